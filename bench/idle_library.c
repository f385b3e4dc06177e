/* idle_library.c - what the loader alone takes for one more library. */
int idle_library;
