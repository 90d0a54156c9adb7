#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Each gives an error's text, malloc'd, or null.

// `jobs` jobs of 0 to `most` pieces on a pool, with pauses long enough that workers fall asleep now and then.
char *pt_jobs(int threads, int jobs, int most);
// `pools` pools that end before a job, right after one and after their workers fell asleep.
char *pt_ends(int threads, int pools);
// Memory that stays.
char *pt_scratch(void);

#ifdef __cplusplus
}
#endif
