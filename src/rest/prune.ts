/** Takes out of an OpenAPI document what no operation refers to: zod's registry has every schema as input and as output. */

interface Document {
  paths?: unknown
  components?: { schemas?: Record<string, unknown> }
}

/** Keeps the component schemas that are reachable from the paths, sorted by name. */
export function prune<D extends Document>(document: D): D {
  const all = document.components?.schemas ?? {}
  const kept = new Set<string>()
  const visit = (part: unknown): void => {
    for (const [, name] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (kept.has(name!)) continue
      kept.add(name!)
      visit(all[name!])
    }
  }
  visit(document.paths)
  const schemas = Object.fromEntries([...kept].sort().map((name) => [name, all[name]]))
  return { ...document, components: { ...document.components, schemas } }
}
