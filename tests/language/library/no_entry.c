/* A library that has nothing to do with Penstock. */
int nothing_of_penstock(void);
int nothing_of_penstock(void) { return 0; }
