/* cmd/compat.h - what this program does under the names of Nsight Systems. */
#pragma once

#include "cmd/command.h"

/* By argv[0]. */
bool compat_is_nsys(const char *program);
bool compat_is_viewer(const char *program);

/* nsys-ui: there is no viewer, and this says what there is. */
enum status compat_view(char **argv, struct call *call);

/* A command of nsys that this version does not have. */
bool compat_is_unserved(const char *command);

/* Put X.fathom in the place of an operand X.nsys-rep that is not there. */
void compat_operands(struct call *call);
