/* systems.h - how table.cu reaches the tables, one open a table; and what each can do */
#ifndef KHT_SYSTEMS_H
#define KHT_SYSTEMS_H

#include "cuda/tables/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What table.cu tells the user of a table is what its open function binds. */
enum {
	KHT_CSR_CAN = KHT_TABLE_MULTI,
	KHT_SORTED_CAN = KHT_TABLE_MULTI,
	KHT_HASHGRAPH_CAN = KHT_TABLE_MULTI | KHT_TABLE_JOIN,
	KHT_SINGLE_CAN = KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE | KHT_TABLE_FIND,
	KHT_BUCKET64_CAN = KHT_TABLE_DYNAMIC | KHT_TABLE_FIND,
	KHT_WINDOW64_CAN = KHT_SINGLE_CAN,
	KHT_MULTI_CAN = KHT_TABLE_MULTI | KHT_TABLE_DYNAMIC | KHT_TABLE_ERASE,
	KHT_BUCKETLIST_CAN = KHT_TABLE_MULTI | KHT_TABLE_DYNAMIC,
	KHT_RUNLIST_CAN = KHT_BUCKETLIST_CAN,
	KHT_COUNTING_CAN = KHT_TABLE_DYNAMIC | KHT_TABLE_NO_VALUES | KHT_TABLE_FIND,
	KHT_HASHSET_CAN = KHT_COUNTING_CAN | KHT_TABLE_ERASE,
	KHT_BLOOM_CAN = KHT_COUNTING_CAN | KHT_TABLE_INEXACT,
	KHT_CUCKOO_CAN = KHT_TABLE_FIND,
	KHT_DACHASH_CAN = KHT_SINGLE_CAN | KHT_TABLE_MIXED
};

int kht_csr_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_sorted_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_hashgraph1_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_hashgraph2_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_single_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_bucket64_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_multi_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_bucketlist_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_runlist_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_hashset_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_counting_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_bloom_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_cuckoo_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_window64_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);
int kht_dachash_open(const kht_table_config *, kht_stream, kht_table **, kh_err *);

#ifdef __cplusplus
}
#endif
#endif
