/* SPDX-License-Identifier: BSD-3-Clause */
#include "vnetrx/base.h"

const char *vnetrx_strerror(int err)
{
	switch (err) {
	case VNETRX_OK:
		return "success";
	case VNETRX_ERR_INVALID:
		return "argument or configuration field out of range";
	case VNETRX_ERR_NOMEM:
		return "memory handed in is too small or not aligned";
	case VNETRX_ERR_BUSY:
		return "something lent is still out";
	case VNETRX_ERR_CANNOT:
		return "the target format cannot say it";
	case VNETRX_ERR_BAD:
		return "device header contradicts itself or its packet";
	default:
		return "unknown error";
	}
}
