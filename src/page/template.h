/* template.h - the page without its data; template.c is made of the files beside this one */
#ifndef KH_PAGE_TEMPLATE_H
#define KH_PAGE_TEMPLATE_H

/* NUL-terminated texts.  The first has a line where each of the others, and the data, go in. */
extern const char kh_page_html[], kh_page_css[], kh_page_js[];

#endif
