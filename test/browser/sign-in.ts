/** Signs a page in, in the two ways that need no other server. */
import type { Page } from 'playwright-core'

/** The page's half of a session (src/dashboard/api/session.ts). */
const KEEPS = 'pilothouse.session'
const MARK = 'a test has signed in'

/**
 * Signs the page in and opens `to`. With a key it skips the sign-in page (sign-in.test.ts covers it): it opens the
 * session as that page does and stores the half before the first page loads. Throws if the sign-in is refused.
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
      // an empty page has no storage; only once, because a signed-out page must stay signed out
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
