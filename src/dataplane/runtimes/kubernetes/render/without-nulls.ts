/**
 * Copies what users wrote in a spec, so that no manifest shares anything with it. Members that are null are
 * left out at every depth: in a spec null says nothing, for an API server it would take a default away.
 */
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
