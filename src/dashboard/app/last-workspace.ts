/** The workspace that was open last in this browser: `/` goes on there. */
const KEY = 'pilothouse.workspace'

export const lastWorkspace = (): string | null => localStorage.getItem(KEY)

/** null: it can't be opened any more */
export function rememberWorkspace(id: string | null): void {
  if (id === null) localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, id)
}
