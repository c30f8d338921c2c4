/** The rules about imports, writers, pages and prose hold, and their checkers find violations. */
import { expect, test } from 'vitest'
import { deadCitations, deadLinks, documentFindings, headings, numbered } from './documents.ts'
import { lengthFindings, proseFindings, subjectFindings } from './prose.ts'
import { cycles, database, environment, findings, folders, growth, packages } from './rules.ts'
import { readSource, withoutComments } from './source.ts'

const files = readSource()
const code = files.filter(({ file }) => !file.endsWith('.css'))

test('folders, packages and files are imported only where the table says', () => {
  expect(findings()).toEqual([])
})

test('the checker finds an import of a higher layer, a cycle of types, a folder without a row and a row without a folder', () => {
  const table = [
    ['low', ''],
    ['high other', 'low'],
    ['gone', 'low'],
  ] as const
  const source = [
    { file: 'low/a.ts', text: "import type { B } from '../high/b.ts'" },
    { file: 'high/b.ts', text: "export * from '../low/a.ts'\n// import '../other/c.ts'" },
    { file: 'other/c.ts', text: "await import('../high/b.ts')" },
    { file: 'new/d.ts', text: '' },
  ]
  expect(folders(source, table)).toEqual([
    'new: not in the table of folders',
    'gone: in the table, but not in src',
    'low/a.ts imports high/b.ts: low may not import high',
    'other/c.ts imports high/b.ts: other may not import high',
  ])
  expect(cycles(source)).toEqual(['a cycle: low/a.ts → high/b.ts → low/a.ts', 'a cycle: low → high → low'])
})

test('the checker names a subsystem above its budget, and a file without one', () => {
  const source = [
    { file: 'low/a.ts', text: 'one\ntwo\n' },
    { file: 'low/deep/b.css', text: 'three\n' },
    { file: 'high/c.ts', text: 'four\n' },
    { file: 'new/d.ts', text: '' },
  ]
  const budgets = [['low/**', 2] as const, ['high', 1] as const]
  expect(growth(source, budgets)).toEqual(['new/d.ts: in no budget, or in two', 'low/**: 3 lines, 1 above its budget'])
})

test('each file of the source is in one budget', () => {
  expect(growth().filter((line) => line.endsWith('in two'))).toEqual([])
})

test('the checker finds packages and reads of the environment outside their folders', () => {
  const source = [
    { file: 'domain/errors/a.ts', text: "import type { FastifyInstance } from 'fastify'\nconst x = process.env.X" },
    { file: 'api/rest/b.ts', text: "import '@fastify/swagger'\n// process.env is read elsewhere" },
  ]
  expect(packages(source)).toEqual(['domain/errors/a.ts imports fastify: only api/** app start'])
  expect(environment(source)).toEqual([
    'domain/errors/a.ts reads process.env: only platform/config platform/tracing cli cli/server cli/terminal start .',
  ])
})

test('the checker finds SQL and generated Prisma code outside the domain', () => {
  const source = [
    {
      file: 'domain/errors/a.ts',
      text: "import { Prisma } from '../../generated/prisma/client.ts'\ndb.$queryRaw`SELECT 1`",
    },
    { file: 'api/rest/b.ts', text: 'pool.query(`UPDATE revisions SET a = 1`) // UPDATE by hand' },
    {
      file: 'api/rest/c.ts',
      text: "import type { Role } from '../../generated/prisma/enums.ts'\n// SELECT is elsewhere",
    },
  ]
  expect(database(source).map((finding) => finding.replace(/: .*/, ''))).toEqual([
    'api/rest/b.ts has SQL',
    'api/rest/c.ts imports generated/prisma/enums.ts',
  ])
})

test('every linked or cited page and heading exists', () => {
  expect(documentFindings()).toEqual([])
})

test('the checker finds dead links, dead citations and references by number', () => {
  const pages = new Map([
    ['README.md', '[a](docs/a.md#one) [b](docs/a.md#two) [c](docs/c.md) [d](#it) [e](https://x.y/#z)\n# It'],
    ['docs/a.md', '# One\n```sh\n# two\n```\n[up](../README.md#it-1)'],
  ])
  expect(deadLinks(pages, (file) => pages.has(file))).toEqual([
    'README.md: ](docs/a.md#two) leads nowhere',
    'README.md: ](docs/c.md) leads nowhere',
    'docs/a.md: ](../README.md#it-1) leads nowhere',
  ])
  const citing = new Map([
    ['src/a.ts', '/** docs/a.md#one, docs/a.md, docs/a.md#two, docs/b.md, https://x.y/docs/b.md */'],
    ['src/b.ts', `// ${['contract', 4].join(' ')}: ${['design', 'rule', 2].join(' ')}`],
  ])
  expect(deadCitations(citing, pages)).toEqual([
    'src/a.ts: docs/a.md#two is not there',
    'src/a.ts: docs/b.md is not there',
  ])
  expect(numbered(citing)).toHaveLength(2)
  expect([...headings('# A `b` & C\n## A `b` & C\n### x_y-z!')]).toEqual(['a-b--c', 'a-b--c-1', 'x_y-z'])
})

test('the checker names files that need rewriting, and skips quoted code', () => {
  const texts = new Map([
    ['src/a.ts', "/** Runs as `nobody`. */\nconst x = 'nobody' // waits in\n// vain, meanwhile"],
    ['docs/b.md', 'Plain words.\n```sh\necho whoever\n```\nAsks at\nonce.'],
    ['docs/c.md', `Nobody ${'word '.repeat(2_000)}`],
    ['src/d.ts', '/**\n * Waits in\n * vain.\n */'],
  ])
  expect(proseFindings(texts)).toEqual([
    'src/a.ts: rewrite the sentences with "in vain", "meanwhile"',
    'docs/b.md: rewrite the sentences with "at once"',
    'src/d.ts: rewrite the sentences with "in vain"',
  ])
})

test('a first comment has at most three lines, the README of a folder at most 60', () => {
  const texts = new Map([
    ['src/a.ts', '/**\n * one\n * two\n * three\n */\nimport x from "x"\n/** four\n * five */'],
    ['src/b.ts', '#!/usr/bin/env node\n// one\n// two\n// three\n// four\n'],
    ['src/c/README.md', 'line\n'.repeat(61)],
    ['docs/README.md', 'line\n'.repeat(61)],
  ])
  expect(lengthFindings(texts).map((finding) => finding.split(':')[0])).toEqual(['src/b.ts', 'src/c/README.md'])
})

test('a commit subject names an area, begins with a verb and has at most 72 characters', () => {
  const good = 'limits: charge a rejected body like any request'
  const bad = ['A body costs what it costs', 'limits: the body is charged', `limits: ${'x'.repeat(70)}`]
  expect(subjectFindings([good, ...bad])).toEqual(bad.map((subject) => expect.stringContaining(`"${subject}"`)))
})

test('only transition.ts writes the status of a revision', () => {
  const writers = files.filter(
    ({ text }) =>
      /revision\.(update|updateMany|upsert)\([^)]*\bstatus:/s.test(text.replaceAll(/where:\s*\{[^}]*\}/gs, '')) ||
      // through the unit of work
      /unit\.update\(\s*'revision',[^{)]*\{[^}]*\bstatus:/s.test(text) ||
      // in the SET clause, not in the condition
      /UPDATE revisions\b(?:(?!\bWHERE\b).)*\bstatus\b/is.test(text),
  )
  expect(writers.map(({ file }) => file)).toEqual(['domain/revisions/transition.ts'])
})

test('only repositories/deployment.ts writes the row of a deployment', () => {
  const writers = files.filter(
    ({ text }) =>
      /\bdeployment\.(create|update|upsert|delete)\w*\(/.test(text) ||
      /(UPDATE|INSERT INTO|DELETE FROM) deployments\b/.test(text),
  )
  expect(writers.map(({ file }) => file)).toEqual(['domain/repositories/deployment.ts'])
})

test('only repositories/locks.ts, which documents the lock order, takes row locks', () => {
  const lockers = files.filter(({ text }) =>
    /\bFOR (NO KEY )?(UPDATE|SHARE)\b|\bFOR KEY SHARE\b|\bSKIP LOCKED\b/.test(withoutComments(text)),
  )
  expect(lockers.map(({ file }) => file)).toEqual(['domain/repositories/locks.ts'])
})

test('every source file begins with a comment', () => {
  const silent = code.filter(({ text }) => !/^(#!.*\n)?(\/\*\*|\/\/)/.test(text)).map(({ file }) => file)
  expect(silent).toEqual([])
})
