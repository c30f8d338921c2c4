/** Remembers the cache version that rows were read at, for callers of the verb that read them. */

const versions = new WeakMap<object, string>()

/** Records `version` for `views`, which one statement read in one snapshot; null: unknown. It is stored with the first one. */
export function readAt<T extends object>(views: T[], version: string | null): T[] {
  if (views[0] && version !== null) versions.set(views[0], version)
  return views
}

/** The recorded version; null: unknown, also for rows of several statements. */
export const versionReadAt = (view: object): string | null => versions.get(view) ?? null
