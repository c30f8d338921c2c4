/** At which version something was read, for who wants to know it of what a verb has returned. */

const versions = new WeakMap<object, string>()

/** `views`, which one statement has read in the snapshot that `version` is of; null: that is not known. The first one has it. */
export function readAt<T extends object>(views: T[], version: string | null): T[] {
  if (views[0] && version !== null) versions.set(views[0], version)
  return views
}

/** Null: it is not known. Of what was read by several statements it is nothing to go by: nobody says it then. */
export const versionReadAt = (view: object): string | null => versions.get(view) ?? null
