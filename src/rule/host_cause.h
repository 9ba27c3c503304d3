/* rule/host_cause.h - idle time of the device by what the launching thread did: for rules that name one such cause. */
#pragma once

#include "rule/lookup.h"

/* Tell a finding when pieces that are wanted take at least that share of the inner time. */
void check_host_cause(const struct rule *self, struct findings *out, enum bottleneck class, double min_share,
		      bool (*wants)(const struct gap *gap, const struct idle_piece *piece));
