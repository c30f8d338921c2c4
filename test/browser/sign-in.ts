/** Signs a page in, the two ways that need no other server. */
import type { Page } from 'playwright-core'

/** Where the page has its half of a session (src/dashboard/api/session.ts). */
const KEEPS = 'pilothouse.session'
const MARK = 'a test has signed in'

/**
 * Leaves the page signed in, at `to`. By a key it is spared the page where people type that (sign-in.test.ts has it): the session is
 * opened as that page does, and what it keeps is there when the first page is loaded. Throws where somebody may not come in.
 */
export async function signIn(
  page: Page,
  origin: string,
  { key, code }: { key?: string; code?: string },
  to = '/',
): Promise<void> {
  if (code) {
    await page.goto(`${origin}/sign-in#code=${code}`)
    await page.waitForURL((url) => url.pathname !== '/sign-in')
    if (to !== '/') await page.goto(origin + to)
    return
  }
  const answer = await page.context().request.post(`${origin}/v2/sessions`, { data: { api_key: key } })
  if (!answer.ok()) throw new Error(`signing in: ${answer.status()} ${await answer.text()}`)
  const { session, half, workspace_id: workspaceId } = await answer.json()
  await page.addInitScript(
    ([ours, keeps, mark, kept]) => {
      // an empty page, or one of the browser’s own, has no storage; and once: whoever signs out stays so
      if (location.origin !== ours || sessionStorage.getItem(mark)) return
      sessionStorage.setItem(mark, 'yes')
      localStorage.setItem(keeps, kept)
    },
    [
      new URL(origin).origin,
      KEEPS,
      MARK,
      JSON.stringify({ id: session.id, half, workspaceId, role: session.role }),
    ] as const,
  )
  await page.goto(new URL(to, origin).href)
}
