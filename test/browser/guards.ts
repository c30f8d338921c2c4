/**
 * What holds for every page of ours, whatever it is for: it writes no error to the console, throws nothing, asks no other
 * origin for anything, breaks nothing of its Content-Security-Policy, and axe-core finds nothing serious in it.
 */
import { createRequire } from 'node:module'
import type Axe from 'axe-core'
import type { ConsoleMessage, Page } from 'playwright-core'

/** Of what axe-core finds; "minor" and "moderate" are its authors' opinions. */
const GRAVE = ['serious', 'critical']
/** The short form, which a page has read in half the time. */
const axe = createRequire(import.meta.url)('axe-core/axe.min.js') as typeof Axe & {
  _audit: { rules: { id: string; impact?: string }[] }
}
/** Rules that can find nothing grave: they would only take time. */
const rules = Object.fromEntries(
  axe._audit.rules
    .filter(({ impact }) => impact !== undefined && !GRAVE.includes(impact))
    .map(({ id }) => [id, { enabled: false }]),
)

export interface Guards {
  /** What was wrong so far, a line each. */
  found(): string[]
  /** What axe-core says of the page as it is now, a line for each of its rules. */
  axe(): Promise<string[]>
  /** From now on what matches is no fault: a test has cut the page off, or asked for what is not there. */
  allow(expected: RegExp): void
  /** Forgets what was wrong so far: the test has looked at it. */
  forgive(): void
}

interface AxeResult {
  violations: { id: string; impact: string; help: string; nodes: { target: string[]; failureSummary: string }[] }[]
}

/** Watches a page that has not yet been anywhere. `origin`: where alone it may ask for anything. */
export async function guard(page: Page, origin: string): Promise<Guards> {
  const wrong: string[] = []
  const allowed: RegExp[] = []
  const report = (line: string): void => {
    if (!allowed.some((expected) => expected.test(line))) wrong.push(line)
  }
  page.on('console', (message) => message.type() === 'error' && report(`console: ${lineOf(message)}`))
  page.on('pageerror', (error) => report(`thrown: ${error.stack ?? error.message}`))
  page.on('request', (request) => isOurs(request.url(), origin) || report(`another origin: ${request.url()}`))
  page.on('websocket', (socket) => isOurs(socket.url(), origin) || report(`another origin: ${socket.url()}`))
  await page.exposeFunction('violated', (what: string) => report(`policy: ${what}`))
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const { effectiveDirective, blockedURI, sourceFile, lineNumber } = event
      const { violated } = window as unknown as { violated(what: string): void }
      violated(`${effectiveDirective} forbids ${blockedURI} at ${sourceFile}:${lineNumber}`)
    })
  })
  return {
    found: () => [...wrong],
    allow: (expected) => void allowed.push(expected),
    forgive: () => void wrong.splice(0),
    async axe() {
      // by the browser's protocol: a script element would be against the policy
      if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
      const { violations } = await page.evaluate((rules): Promise<AxeResult> => {
        const { axe } = window as unknown as { axe: { run(options: object): Promise<AxeResult> } }
        // it would ask for our style sheets once more
        return axe.run({ preload: false, resultTypes: ['violations'], rules })
      }, rules)
      return violations
        .filter(({ impact }) => GRAVE.includes(impact))
        .map(({ id, help, nodes }) => {
          const [{ target, failureSummary }] = nodes as [(typeof nodes)[0]]
          const first = `${target.join(' ')}: ${oneLine(failureSummary)}`
          return `axe ${id}: ${help}, ${nodes.length} of them, the first is ${first}`
        })
    },
  }
}

const lineOf = (message: ConsoleMessage): string => `${oneLine(message.text())} (${message.location().url})`
const oneLine = (text: string): string => text.replaceAll(/\s*\n\s*/g, ' ')

/** `data:` and `blob:` leave nothing; `ws:` of our own host is ours. */
function isOurs(address: string, origin: string): boolean {
  const { protocol, host } = new URL(address)
  return ['data:', 'blob:', 'about:'].includes(protocol) || host === new URL(origin).host
}
