/** The patch types other than apply: JSON patch, merge patch, and strategic merge patch. */
import { isAssociative, itemElement } from './fields.ts'
import { clone, isMap, type Json } from './objects.ts'
import { ApiError } from './status.ts'

export function patched(type: string, live: Json, patch: Json): Json {
  switch (type) {
    case 'application/json-patch+json':
      return jsonPatch(clone(live), patch)
    case 'application/merge-patch+json':
      return merged(live, patch, null)
    case 'application/strategic-merge-patch+json':
      return merged(live, patch, [])
    default:
      throw new ApiError(415, 'UnsupportedMediaType', 'the body of the request was in an unknown format')
  }
}

/** `path`: merges associative lists by their items; null: replaces every list. */
function merged(live: Json, patch: Json, path: string[] | null): Json {
  if (Array.isArray(patch) && Array.isArray(live) && path && isAssociative(path)) {
    const items = new Map(live.map((item) => [itemElement(path, item), item]))
    for (const item of patch) {
      const element = itemElement(path, item)
      items.set(element, merged(items.get(element), item, [...path, element]))
    }
    return [...items.values()]
  }
  if (!isMap(patch)) return clone(patch)
  const next: Json = isMap(live) ? { ...live } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name]
    else next[name] = merged(next[name], value, path && [...path, `f:${name}`])
  }
  return next
}

/** The operations `add`, `replace` and `remove`. */
function jsonPatch(document: Json, operations: Json): Json {
  for (const { op, path, value } of operations) {
    const keys = path.split('/').slice(1)
    const [key, ...above] = keys.map((k: string) => k.replaceAll('~1', '/').replaceAll('~0', '~')).reverse()
    const parent = above.reverse().reduce((node: Json, k: string) => node?.[k], document)
    if (parent === undefined || (op !== 'add' && parent[key] === undefined))
      throw new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request')
    if (Array.isArray(parent)) parent.splice(Number(key), op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]))
    else if (op === 'remove') delete parent[key]
    else parent[key] = value
  }
  return document
}
