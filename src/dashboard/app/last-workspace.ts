/** The workspace that this browser opened last. `/` redirects to it. */
const STORAGE_KEY = 'pilothouse.workspace'

export const lastWorkspace = (): string | null => localStorage.getItem(STORAGE_KEY)

/** null: the workspace can't be opened any more */
export function rememberWorkspace(id: string | null): void {
  if (id === null) localStorage.removeItem(STORAGE_KEY)
  else localStorage.setItem(STORAGE_KEY, id)
}
