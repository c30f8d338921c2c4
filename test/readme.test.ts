/** The README is checked: its table of settings against config.ts, and its examples by running them. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { SETTINGS } from '../src/config.ts'
import { LISTENER_SETTINGS } from '../src/listener/settings.ts'
import { testApp } from './support/app.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8')

test.each([
  ['settings', SETTINGS],
  ['listener settings', LISTENER_SETTINGS],
])('all %s are in their table, with their default and what they are for', (marker, settings) => {
  const rows = Object.entries(settings).map(
    ([name, [, preset, what]]) => `| \`${name}\` | ${preset === null ? '' : `\`${preset}\``} | ${what} |`,
  )
  const table = ['| setting | default | what it is for |', '|---|---|---|', ...rows].join('\n')
  expect(README.match(new RegExp(`<!-- ${marker} -->\n(.*?)\n?<!-- /${marker} -->`, 's'))?.[1]).toBe(table)
})

test('the examples work as they stand, from an empty folder to a running agent', async () => {
  const server = await testApp({ settings: { WORKER: 'on', RUNTIME: 'process', APP_PORTS: '21800-21899' } })
  try {
    const script = [...README.matchAll(/^```sh\n(.*?)^```$/gms)].map((block) => block[1]).join('\necho; echo ----\n')
    const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
      cwd: ROOT,
      env: {
        // curl as it is needed here, in Node: the machine may have none
        PATH: `${fileURLToPath(new URL('support/bin', import.meta.url))}:${process.env.PATH}`,
        HOME: process.env.HOME,
        PILOTHOUSE_URL: server.url,
        CONTROL_PLANE_API_KEY: server.keys.admin,
        GIT_DIRECTORY: server.app.config.GIT_DIRECTORY,
      },
    })
    expect(stdout).toContain('"to":"DEPLOYED"')
    expect(stdout).toContain('Hello from version 1')
    expect(stdout).toContain('"url":"file://')
    expect(stdout).toContain('RedeployRevisionSuccess')
    expect(stdout).not.toContain('"detail"')
    expect(stdout).not.toContain('"errors"')
  } finally {
    await server.close()
  }
}, 120_000)
