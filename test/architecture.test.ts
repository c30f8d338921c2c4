/** The boundaries of the source, held by a test: who may import whom, and who may write a status or read the environment. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const SRC = fileURLToPath(new URL('../src', import.meta.url))
const files = (readdirSync(SRC, { recursive: true }) as string[])
  .filter((file) => file.endsWith('.ts') && !file.startsWith('generated'))
  .map((file) => ({ file: file.replaceAll('\\', '/'), text: readFileSync(path.join(SRC, file), 'utf8') }))

/** What a file imports: `src`-relative paths for our own, package names for the others. */
function imports(file: string, text: string): string[] {
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!)
  return specifiers.map((s) => (s.startsWith('.') ? path.posix.join(path.posix.dirname(file), s) : s))
}

function offenders(inside: (file: string) => boolean, forbidden: RegExp, except: string[] = []): string[] {
  return files
    .filter(({ file }) => inside(file) && !except.includes(file))
    .flatMap(({ file, text }) =>
      imports(file, text)
        .filter((i) => forbidden.test(i))
        .map((i) => `${file} imports ${i}`),
    )
}
const within = (folder: string) => (file: string) => file.startsWith(`${folder}/`)

test('the domain knows no transport, no process, no file of the environment', () => {
  expect(
    offenders(
      within('domain'),
      /^(graphql|@pothos|fastify|@fastify|graphql-yoga|@kubernetes|pino|execa)|^(rest|graphql|auth|realtime|dataplane|cli|database)\/|^(app|main|config|log)\.ts$/,
    ),
  ).toEqual([])
})

test('REST and GraphQL do not know each other, and neither touches the data plane', () => {
  expect(offenders(within('rest'), /^graphql|^@pothos|^dataplane\/|^realtime\//)).toEqual([])
  expect(offenders(within('graphql'), /^rest\/|^dataplane\/|^fastify/, ['graphql/mount.ts'])).toEqual([])
})

test('the data plane speaks to the control plane through the protocol alone', () => {
  expect(
    offenders(
      within('dataplane'),
      /^domain\/(?!work\/protocol\.ts|errors\.ts|context\.ts|secrets\/secret-set\.ts|deployments\/repo-url\.ts|revisions\/lifecycle\.ts)|^(rest|graphql|auth|realtime)\//,
    ),
  ).toEqual([])
})

test('only transition.ts writes the status of a revision', () => {
  const writers = files.filter(
    ({ text }) =>
      /revision\.(update|updateMany|upsert)\([^)]*\bstatus:/s.test(text.replaceAll(/where:\s*\{[^}]*\}/gs, '')) ||
      // in what it sets, not in its condition
      /UPDATE revisions\b(?:(?!\bWHERE\b).)*\bstatus\b/is.test(text),
  )
  expect(writers.map(({ file }) => file)).toEqual(['domain/revisions/transition.ts'])
})

test('only config.ts and the two entry points read the environment', () => {
  const readers = files
    .filter(({ text }) => /process\.env/.test(text.replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')))
    .map(({ file }) => file)
  expect(readers.filter((file) => !['main.ts', 'config.ts'].includes(file) && !file.startsWith('cli/'))).toEqual([])
})

test('every file says what it is for before it does anything', () => {
  const silent = files.filter(({ text }) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(text)).map(({ file }) => file)
  expect(silent).toEqual([])
})

test('imports make no circle inside the domain, apart from types', () => {
  const graph = new Map(
    files.map(({ file, text }) => {
      const values = text.replaceAll(/import type [^;]*?from\s*'[^']+'/gs, '')
      return [file, imports(file, values).filter((i) => i.startsWith('domain/'))] as const
    }),
  )
  const circles: string[] = []
  const visit = (file: string, trail: string[]): void => {
    if (trail.includes(file)) circles.push([...trail.slice(trail.indexOf(file)), file].join(' → '))
    else for (const next of graph.get(file) ?? []) visit(next, [...trail, file])
  }
  for (const file of graph.keys()) if (file.startsWith('domain/')) visit(file, [])
  expect([...new Set(circles)]).toEqual([])
})
