/** The path that a health check requests. An agent is ready when it answers that path with 200. */

export const DEFAULT_HEALTH_PATH = '/ok'

/** The secret that sets the path. Its value is not confidential: messages and probes show it. */
export const HEALTH_PATH_SECRET = 'PILOTHOUSE_HEALTH_PATH'

export const HEALTH_PATH_RULE =
  'must be a path that begins with "/": at most 256 printable ASCII characters, without spaces, "?" and "#"'

export const isHealthPath = (text: string): boolean => /^\/[!-~]{0,255}$/.test(text) && !/[?#]/.test(text)

/** The secret wins: the operator sets it, and `built` is part of the code. A value that an earlier version stored may be invalid. */
export function healthPathOf(
  secrets: readonly { name: string; value: string }[],
  built: string = DEFAULT_HEALTH_PATH,
): string {
  const secret = secrets.find(({ name }) => name === HEALTH_PATH_SECRET)
  return secret && isHealthPath(secret.value) ? secret.value : built
}
