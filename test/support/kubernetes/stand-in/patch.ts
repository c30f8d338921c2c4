/** The patch types other than apply: JSON patch, merge patch, and strategic merge patch with the known keys. */
import { isMap, itemElement, listType } from './fields.ts'
import { clone, type Json } from './objects.ts'
import { ApiError, badRequest } from './status.ts'

export function patched(type: string, live: Json, patch: Json): Json {
  switch (type) {
    case 'application/json-patch+json':
      return jsonPatch(clone(live), patch)
    case 'application/merge-patch+json':
      return mergePatch(live, patch)
    case 'application/strategic-merge-patch+json':
      return strategic(live, patch, [])
    default:
      throw new ApiError(
        415,
        'UnsupportedMediaType',
        `the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml`,
      )
  }
}

function mergePatch(live: Json, patch: Json): Json {
  if (!isMap(patch)) return clone(patch)
  const next: Json = isMap(live) ? { ...live } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name]
    else next[name] = mergePatch(next[name], value)
  }
  return next
}

function strategic(live: Json, patch: Json, path: string[]): Json {
  if (Array.isArray(patch)) {
    if (!Array.isArray(live) || listType(path) === 'atomic') return clone(patch.filter((item) => !item?.$patch))
    let items = [...live]
    for (const item of patch) {
      const element = itemElement(path, item)
      const at = items.findIndex((i) => itemElement(path, i) === element)
      if (item?.$patch === 'delete') items = items.filter((_, n) => n !== at)
      else if (at < 0) items.push(clone(item))
      else items[at] = isMap(item) ? strategic(items[at], item, [...path, element]) : item
    }
    return items
  }
  if (!isMap(patch)) return patch
  if (patch.$patch === 'replace')
    return clone(Object.fromEntries(Object.entries(patch).filter(([n]) => n !== '$patch')))
  const next: Json = isMap(live) ? { ...live } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$setElementOrder/') || name === '$retainKeys' || name === '$patch') continue
    if (name.startsWith('$deleteFromPrimitiveList/')) {
      const list = name.slice('$deleteFromPrimitiveList/'.length)
      next[list] = (next[list] ?? []).filter((item: Json) => !(value as Json[]).includes(item))
    } else if (value === null) delete next[name]
    else next[name] = strategic(next[name], value, [...path, `f:${name}`])
  }
  return next
}

function jsonPatch(document: Json, operations: Json): Json {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch is a list of operations')
  let root = document
  const at = (pointer: string): { parent: Json; key: string } => {
    const keys = pointer
      .split('/')
      .slice(1)
      .map((k) => k.replaceAll('~1', '/').replaceAll('~0', '~'))
    const key = keys.pop()!
    const parent = keys.reduce((node, k) => node?.[k], root)
    if (parent === undefined)
      throw new ApiError(422, 'Invalid', `the server rejected our request due to an error in our request`)
    return { parent, key }
  }
  const add = (pointer: string, value: Json): void => {
    if (pointer === '') root = value
    else {
      const { parent, key } = at(pointer)
      if (Array.isArray(parent)) parent.splice(key === '-' ? parent.length : Number(key), 0, value)
      else parent[key] = value
    }
  }
  const remove = (pointer: string): Json => {
    const { parent, key } = at(pointer)
    const value = parent[key]
    if (value === undefined)
      throw new ApiError(422, 'Invalid', `the server rejected our request due to an error in our request`)
    if (Array.isArray(parent)) parent.splice(Number(key), 1)
    else delete parent[key]
    return value
  }
  for (const { op, path, from, value } of operations) {
    if (op === 'add') add(path, value)
    else if (op === 'remove') remove(path)
    else if (op === 'replace') {
      remove(path)
      add(path, value)
    } else if (op === 'move') add(path, remove(from))
    else if (op === 'copy') add(path, clone(at(from).parent[at(from).key]))
    else if (op === 'test') {
      const { parent, key } = at(path)
      if (JSON.stringify(parent[key]) !== JSON.stringify(value))
        throw new ApiError(422, 'Invalid', `the server rejected our request due to an error in our request`)
    }
  }
  return root
}
