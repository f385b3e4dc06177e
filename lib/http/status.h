/* status.h - the words that go with the numbers of replies. */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

/* "Not Found"; "Unknown" for a number without a name. */
const char *http_status_text(unsigned status);

#endif
