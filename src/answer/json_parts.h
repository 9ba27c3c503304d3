/* answer/json_parts.h - parts of the JSON report; see docs/analysis/json.md. */
#pragma once

#include "answer/answer.h"
#include "answer/json.h"

/* json_analysis.c */
void field_mixed(struct json *j, const struct verdict *v, bool is_mixed); /* the two classes, or null */
void fields_window(struct json *j, const struct answer *a);
void fields_steps(struct json *j, const struct answer *a);
void fields_bottlenecks(struct json *j, const struct answer *a);
void fields_accounting(struct json *j, const struct answer *a);
void fields_idle(struct json *j, const struct answer *a);
void fields_path(struct json *j, const struct answer *a);
void fields_what_if(struct json *j, const struct answer *a);
void fields_findings(struct json *j, const struct answer *a);

/* json_tables.c */
void fields_environment(struct json *j, const struct answer *a);
void fields_kernels(struct json *j, const struct answer *a);
void fields_api(struct json *j, const struct answer *a);
void fields_launch_phases(struct json *j, const struct answer *a);
void fields_phases(struct json *j, const struct answer *a);
void fields_comm(struct json *j, const struct answer *a);
void fields_ranks(struct json *j, const struct answer *a);
void fields_memory(struct json *j, const struct answer *a);
void fields_loss(struct json *j, const struct answer *a);
void fields_thresholds(struct json *j, const struct answer *a);
