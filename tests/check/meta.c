/* SPDX-License-Identifier: BSD-3-Clause */
#include "meta.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool number(const char *line, const char *key, uint64_t *value)
{
	const char *at = strstr(line, key);

	if (at == NULL || !isdigit((unsigned char)at[strlen(key)]))
		return false;
	*value = strtoull(at + strlen(key), NULL, 10);
	return true;
}

static bool one_mode(const char **at, enum id_mode *mode)
{
	static const char *const words[] = { [ID_NONE] = "null", [ID_RISING] = "\"rising\"", [ID_FIXED] = "\"fixed\"" };

	for (unsigned i = 0; i < 3u; i++) {
		if (strncmp(*at, words[i], strlen(words[i])) == 0) {
			*at += strlen(words[i]);
			*mode = (enum id_mode)i;
			return true;
		}
	}
	return false;
}

static bool modes(const char *line, struct meta *meta)
{
	const char *at = strstr(line, "\"id\":[");

	meta->levels = 0;
	if (at == NULL)
		return false;
	for (at += 6; *at != ']'; at += *at == ',') {
		if (meta->levels == 2u || !one_mode(&at, &meta->id[meta->levels++]))
			return false;
	}
	return true;
}

bool meta_read(FILE *file, struct meta *meta, bool *bad)
{
	char line[1024];

	*bad = false;
	if (fgets(line, sizeof(line), file) == NULL)
		return false;
	*bad = !number(line, "\"n\":", &meta->n) || !number(line, "\"len\":", &meta->len) ||
	       !number(line, "\"segs\":", &meta->segs) || !number(line, "\"gso_size\":", &meta->gso_size) ||
	       !modes(line, meta);
	return !*bad;
}
