/* test/notation.c - see test.h. */
