/**
 * Checks for every page: no console error, no exception, no request to another origin, no violation of its
 * Content-Security-Policy, and no serious finding of axe-core.
 */
import { createRequire } from 'node:module'
import type Axe from 'axe-core'
import type { ConsoleMessage, Page } from 'playwright-core'

/** Severities of axe-core that count; "minor" and "moderate" are its authors' opinions. */
const GRAVE = ['serious', 'critical']
/** The minified form, which a page parses in half the time. */
const axe = createRequire(import.meta.url)('axe-core/axe.min.js') as typeof Axe & {
  _audit: { rules: { id: string; impact?: string }[] }
}
/** Rules without serious findings, which would only take time. */
const rules = Object.fromEntries(
  axe._audit.rules
    .filter(({ impact }) => impact !== undefined && !GRAVE.includes(impact))
    .map(({ id }) => [id, { enabled: false }]),
)

export interface Guards {
  /** The faults so far, one line each. */
  found(): string[]
  /** The findings of axe-core on the current page, one line per rule. */
  axe(): Promise<string[]>
  /** Ignores matching faults from now on: a test has cut the page off, or requested something that does not exist. */
  allow(expected: RegExp): void
  /** Forgets the faults so far, after the test has checked them. */
  forgive(): void
}

interface AxeResult {
  violations: { id: string; impact: string; help: string; nodes: { target: string[]; failureSummary: string }[] }[]
}

/** Watches a new page. `origin`: the only origin that it may request. */
export async function guard(page: Page, origin: string): Promise<Guards> {
  const wrong: string[] = []
  const allowed: RegExp[] = []
  const report = (line: string): void => {
    if (!allowed.some((expected) => expected.test(line))) wrong.push(line)
  }
  page.on('console', (message) => message.type() === 'error' && report(`console: ${lineOf(message)}`))
  // a thrown value that is no Error has no stack
  page.on('pageerror', (error) => report(`thrown: ${error.stack || `${error.name} ${error.message}`}`))
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
      // through the browser's protocol, because the policy forbids a script element
      if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe.source)
      const { violations } = await page.evaluate((rules): Promise<AxeResult> => {
        const { axe } = window as unknown as { axe: { run(options: object): Promise<AxeResult> } }
        // it would request the style sheets again
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

/** `data:` and `blob:` leave the browser nowhere; `ws:` of the same host is the server's; agents are called by Try it */
function isOurs(address: string, origin: string): boolean {
  const { protocol, host, hostname } = new URL(address)
  const isAgent = hostname.endsWith('.localhost')
  return ['data:', 'blob:', 'about:'].includes(protocol) || host === new URL(origin).host || isAgent
}
