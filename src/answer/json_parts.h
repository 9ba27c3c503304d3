/* answer/json_parts.h - parts of the JSON report; see docs/analysis/json.md. */
#pragma once

#include "answer/answer.h"
#include "answer/json.h"

/* json_analysis.c */
void json_window(struct json *j, const struct answer *a);
void json_steps(struct json *j, const struct answer *a);
void json_bottlenecks(struct json *j, const struct answer *a);
void json_accounting(struct json *j, const struct answer *a);
void json_idle(struct json *j, const struct answer *a);
void json_path(struct json *j, const struct answer *a);
void json_what_if(struct json *j, const struct answer *a);
void json_findings(struct json *j, const struct answer *a);

/* json_tables.c */
void json_environment(struct json *j, const struct answer *a);
void json_kernels(struct json *j, const struct answer *a);
void json_api(struct json *j, const struct answer *a);
void json_phases(struct json *j, const struct answer *a);
void json_comm(struct json *j, const struct answer *a);
void json_ranks(struct json *j, const struct answer *a);
void json_memory(struct json *j, const struct answer *a);
void json_loss(struct json *j, const struct answer *a);
void json_thresholds(struct json *j, const struct answer *a);
