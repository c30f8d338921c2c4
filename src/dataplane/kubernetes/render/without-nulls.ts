/** Copies a user's part of a spec without null members: an API server would remove a default for null. */
export function withoutNulls<T>(value: T): T {
  if (Array.isArray(value)) return value.map(withoutNulls) as T
  if (value === null || typeof value !== 'object') return value
  // fromEntries, because a member may be called __proto__
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null && member !== undefined)
      .map(([name, member]) => [name, withoutNulls(member)]),
  ) as T
}
