/* systems.h - how table.cu reaches the tables, one open a file */
#ifndef KH_TABLES_SYSTEMS_H
#define KH_TABLES_SYSTEMS_H

#include "table.h"

#ifdef __cplusplus
extern "C" {
#endif

int kh_csr_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_sorted_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_hashgraph1_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_hashgraph2_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_single_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_bucket64_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_multi_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_bucketlist_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_hashset_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_counting_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_bloom_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_cuckoo_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_dachash_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);
int kh_index_open(const kh_table_config *, kh_stream, kh_table **, kh_err *);

#ifdef __cplusplus
}
#endif
#endif
