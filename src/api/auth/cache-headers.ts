/** Cache headers of every answer to an authenticated caller (docs/api-rules.md#conditional-requests). */

/** The headers that identify a caller, and `Origin`, which decides whether another origin's page may read the answer. */
export const VARY = ['X-Api-Key', 'Authorization', 'X-Tenant-Id', 'X-Session', 'Cookie', 'Origin'].join(', ')

/** Only the caller's own cache may store the answer, and it must revalidate each time. */
export const CACHE_HEADERS = { vary: VARY, 'cache-control': 'private, no-cache' } as const
