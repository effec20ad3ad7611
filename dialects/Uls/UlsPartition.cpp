#include "dialects/Uls/Uls.h"
