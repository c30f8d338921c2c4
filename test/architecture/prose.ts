/** Counts words that mark sentences to rewrite, and checks commit subjects (docs/CONTRIBUTING.md#how-we-write). */
import { execFileSync } from 'node:child_process'

/** Texts by their paths below the project's folder. */
export type Texts = ReadonlyMap<string, string>

/** Nearly every sentence with one of these hides its subject or its time. "at once" is "immediately" or "concurrently". */
const MARKER_WORDS = [
  ...['whoever', 'whichever', 'whatever', 'nobody', 'somebody', 'anybody'],
  ...['of ours', 'of theirs', 'of its own', 'who asks', 'what is to'],
  ...['meanwhile', 'anew', 'at once', 'in time', 'soonest', 'as ever'],
  ...['in vain', 'so many', 'the like', 'beside', 'needless'],
  ...['lest', 'upon', 'hence', 'what was', 'what comes', 'who comes'],
]
const MARKERS = new RegExp(`\\b(${MARKER_WORDS.join('|').replaceAll(' ', '\\s+')})\\b`, 'gi')
const FILE_LIMIT_PER_1000_WORDS = 0.5

/** The Markdown of a page without code, or the comments of a source file. */
function proseOf(file: string, text: string): string {
  if (file.endsWith('.md')) return text.replaceAll(/^\s*```.*?^\s*```$/gms, '')
  const comments = file.endsWith('.prisma') ? /\/\/[^\n]*/g : /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*/g
  return [...text.matchAll(comments)].map(([comment]) => comment.replaceAll(/^\s*(\/\/+|\/?\*+)/gm, '')).join('\n')
}

/** Files with more marker words than the limit. Quoted code (`nobody`, the Unix account) doesn't count. */
export function proseFindings(texts: Texts): string[] {
  return [...texts].flatMap(([file, text]) => {
    const prose = proseOf(file, text).replaceAll(/`[^`\n]*`/g, 'code')
    const found = [...prose.matchAll(MARKERS)].map(([word]) => `"${word.toLowerCase().replaceAll(/\s+/g, ' ')}"`)
    const words = prose.split(/\s+/).filter(Boolean).length
    return (found.length / Math.max(words, 1)) * 1000 > FILE_LIMIT_PER_1000_WORDS
      ? [`${file}: rewrite the sentences with ${[...new Set(found)].join(', ')}`]
      : []
  })
}

/** Source files whose first comment has more than three lines of text, and folder READMEs with more than 60 lines. */
export function lengthFindings(texts: Texts): string[] {
  return [...texts].flatMap(([file, text]) => {
    if (file.endsWith('README.md'))
      return file.startsWith('src/') && text.trimEnd().split('\n').length > 60 ? [`${file}: keep it to 60 lines`] : []
    const comment = text.match(/^(?:#!.*\n)?\s*(\/\*\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/)?.[1] ?? ''
    const lines = comment.split('\n').filter((line) => /[\p{L}\p{N}]/u.test(line)).length
    return lines > 3 ? [`${file}: shorten the first comment to three lines, and explain in the folder's README`] : []
  })
}

/** `area: imperative`, at most 72 characters. */
export function subjectFindings(subjects: readonly string[]): string[] {
  return subjects
    .filter((subject) => subject.length > 72 || !/^[a-z][a-z0-9-]*: (?!(an?|the|what|who|it|of|no) )\S/.test(subject))
    .map((subject) => `commit subject "${subject}": write "area: imperative" in at most 72 characters`)
}

/** Subjects since the rule came, newest first; none outside a git checkout. */
export function recentSubjects(): string[] {
  try {
    const log = ['log', '--no-merges', '--since=2026-11-24T10:20:00Z', '--format=%s']
    return execFileSync('git', log, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')
      .filter(Boolean)
  } catch {
    return []
  }
}
