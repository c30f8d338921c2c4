/** Checks that comments and pages refer only to existing pages and headings, never to a document by number. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { lengthFindings, proseFindings, type Texts } from './prose.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The README, the change log, all pages of docs, and the READMEs of folders. */
const readPages = (): Texts =>
  read(['README.md', 'CHANGELOG.md', ...['.changeset', 'deploy', 'docs', 'src', 'test'].flatMap(below)], /\.md$/)

/** Sources with comments. The tests of these rules are left out: their pages are made up. */
const readCiting = (): Texts =>
  read(
    ['prisma/schema.prisma', ...['src', 'test'].flatMap(below)],
    /^(?!src\/generated\/|test\/architecture\/).*\.(tsx?|mts|mjs|prisma)$/,
  )

/** All rules about pages and comments, over the whole project. */
export function documentFindings(): string[] {
  const pages = readPages()
  const citing = readCiting()
  const texts = new Map([...citing, ...pages])
  return [
    ...[...deadLinks(pages), ...deadCitations(citing, pages), ...numbered(texts)],
    ...[...proseFindings(texts), ...lengthFindings(texts)],
  ]
}

/** Finds links of pages to missing files and headings. */
export function deadLinks(pages: Texts, exists = (file: string) => existsSync(path.join(ROOT, file))): string[] {
  return [...pages].flatMap(([page, text]) =>
    [...withoutCode(text).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .filter(([, file, anchor]) => {
        const target = file ? path.posix.join(path.posix.dirname(page), file) : page
        return !exists(target) || (anchor !== undefined && !headings(pages.get(target)).has(anchor))
      })
      .map(([link]) => `${page}: ${link} leads nowhere`),
  )
}

/** Finds references in comments, like `docs/protocol.md#claims`, to missing pages and headings. */
export function deadCitations(citing: Texts, pages: Texts): string[] {
  return [...citing].flatMap(([file, text]) =>
    [...text.matchAll(/(?<![\w/-])(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)]
      .filter(
        ([, page, anchor]) => !pages.has(page!) || (anchor !== undefined && !headings(pages.get(page!)).has(anchor)),
      )
      .map(([reference]) => `${file}: ${reference} is not there`),
  )
}

/** Finds references by number to documents outside this repository, which readers can't look up. */
export function numbered(texts: Texts): string[] {
  return [...texts].flatMap(([file, text]) =>
    [...text.matchAll(/\b(contract|spec|design rule) \d+(\.\d+)*\b/gi)].map(
      ([reference]) => `${file}: "${reference}" is no reference to a page`,
    ),
  )
}

const withoutCode = (text: string): string => text.replaceAll(/^```.*?^```$/gms, '')

/** Returns the anchors of a page's headings as GitHub generates them: the second of a name ends in `-1`. */
export function headings(page = ''): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading] of withoutCode(page).matchAll(/^#+ (.*)$/gm)) {
    const plain = heading!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = plain
    for (let copy = 1; anchors.has(anchor); copy++) anchor = `${plain}-${copy}`
    anchors.add(anchor)
  }
  return anchors
}

/** Returns the files of a folder, at any depth. */
const below = (folder: string): string[] =>
  (readdirSync(path.join(ROOT, folder), { recursive: true }) as string[])
    .map((name) => path.posix.join(folder, name.replaceAll('\\', '/')))
    .filter((name) => !name.includes('/node_modules/'))

const read = (names: string[], which: RegExp): Texts =>
  new Map(
    names
      .filter((name) => which.test(name))
      .map((name) => [name, readFileSync(path.join(ROOT, name), 'utf8')] as const),
  )
