/** What every answer to a caller says about who may keep it (docs/api-rules.md#conditional-requests). */

/** What a caller is known by, so that answers differ by it; and whether a page of another origin may read them. */
export const VARY = ['X-Api-Key', 'Authorization', 'X-Tenant-Id', 'X-Session', 'Cookie', 'Origin'].join(', ')

/** It is the caller's alone, and to be asked for again each time, with its tag if it has one. */
export const CACHE_HEADERS = { vary: VARY, 'cache-control': 'private, no-cache' } as const
