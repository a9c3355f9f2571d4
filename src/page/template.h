/* template.h - the page without its data; template.c is made of the files beside this one */
#ifndef KH_PAGE_TEMPLATE_H
#define KH_PAGE_TEMPLATE_H

/* Texts that end in a NUL.  The first has a line for each of the others, and for the data. */
extern const char kh_page_html[], kh_page_css[], kh_page_js[];

#endif
