/**
 * Between GraphQL's camelCase and the snake_case of the verbs. What is below an opaque member is not ours: keys of
 * labels and annotations belong to the user, volumes and containers have Kubernetes' own (camelCase) names.
 */

/** Members (camelCase) whose content has the same names on both sides. */
const OPAQUE: ReadonlySet<string> = new Set([
  'labels',
  'annotations',
  'volumes',
  'volumeMounts',
  'initContainers',
  'sidecars',
])

export const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

export const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A GraphQL input as a verb's raw part: keys in snake_case, all the way down to opaque members. */
export function toSnake(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSnake)
  if (value instanceof Date) return value.toISOString()
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [snake(key), OPAQUE.has(key) ? member : toSnake(member)]),
  )
}

/** A violation's path, in GraphQL's names: `['source_config', 'cpu_limit']` → `['sourceConfig', 'cpuLimit']`. */
export function toCamelPath(path: readonly (string | number)[]): (string | number)[] {
  let opaque = false
  return path.map((part) => {
    if (opaque || typeof part === 'number') return part
    const name = camel(part)
    opaque = OPAQUE.has(name)
    return name
  })
}
