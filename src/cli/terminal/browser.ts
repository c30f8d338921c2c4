/** Opens a URL in the person's browser. */
import { spawn } from 'node:child_process'

/** `BROWSER` names the program, otherwise the desktop decides. A failure is ignored, because the caller also prints the URL. */
export function openBrowser(url: string, env: Record<string, string | undefined>): void {
  const [program, ...words] = env.BROWSER ? [env.BROWSER] : (DESKTOP[process.platform] ?? ['xdg-open'])
  const browser = spawn(program!, [...words, url], { detached: true, stdio: 'ignore' })
  browser.on('error', () => undefined)
  browser.unref()
}

const DESKTOP: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}
