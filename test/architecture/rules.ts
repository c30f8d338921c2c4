/** The rules about imports. Each function takes source files and returns one line per violation. */
import path from 'node:path'
import { BUDGETS, ENVIRONMENT, FOLDERS, GENERATED, PACKAGES, type Row, SQL } from './folders.ts'
import { importsOf, readSource, type SourceFile, withoutComments } from './source.ts'

const folderOf = (file: string): string => path.posix.dirname(file)
const words = (text: string): string[] => text.split(' ').filter(Boolean)

/** `patterns`: names with `*` for one part of a path and `**` for any number of them, separated by spaces. */
function matches(name: string, patterns: string): boolean {
  return words(patterns).some((pattern) => {
    const regex = pattern
      .replaceAll(/[.+]/g, '\\$&')
      .replaceAll(/\/?\*\*/g, '⁑')
      .replaceAll('*', '[^/]+')
      .replaceAll('⁑', '(/.*)?')
    return new RegExp(`^${regex}$`).test(name)
  })
}

/** Applies all rules to all of `src`. */
export function findings(): string[] {
  const files = readSource()
  return [...folders(files), ...cycles(files), ...packages(files), ...database(files), ...environment(files)]
}

/** Finds imports that the table doesn't allow, folders missing in the table, and rows without a folder. */
export function folders(files: SourceFile[], table: readonly Row[] = FOLDERS): string[] {
  const named = new Map(table.flatMap(([names], row) => words(names).map((name) => [name, row] as const)))
  const present = new Set(files.map(({ file }) => folderOf(file)))
  const rowOf = new Map(
    [...present].flatMap((folder) => {
      const row = named.get(folder) ?? named.get(folder.replace(/[^/]+$/, '*'))
      return row === undefined ? [] : [[folder, row] as const]
    }),
  )
  const isThere = (name: string): boolean => [...present].some((folder) => matches(folder, name))
  const allowed = (from: string, to: string, file: string): boolean => {
    const row = rowOf.get(from)!
    return rowOf.get(to)! < row && (matches(to, table[row]![1]) || matches(file, table[row]![1]))
  }
  const known = (folder: string): boolean => rowOf.has(folder)
  return [
    ...[...present].filter((folder) => !known(folder)).map((folder) => `${folder}: not in the table of folders`),
    ...[...named.keys()].filter((name) => !isThere(name)).map((name) => `${name}: in the table, but not in src`),
    ...arrows(files)
      .map(({ from, to }) => ({ from, to, folder: folderOf(from), target: folderOf(to) }))
      .filter(
        ({ to, folder, target }) => folder !== target && known(folder) && known(target) && !allowed(folder, target, to),
      )
      .map(({ from, to, folder, target }) => `${from} imports ${to}: ${folder} may not import ${target}`),
  ]
}

/** Returns a line for each subsystem that is larger than its budget, and one for each file that is in none or in two. */
export function growth(files: SourceFile[] = readSource(), budgets: typeof BUDGETS = BUDGETS): string[] {
  const lines = (source: SourceFile[]) => source.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0)
  const owners = (file: string) => budgets.filter(([folders]) => matches(folderOf(file), folders)).length
  const grown = budgets.flatMap(([folders, budget]) => {
    const now = lines(files.filter(({ file }) => matches(folderOf(file), folders)))
    return now > budget ? [`${folders}: ${now} lines, ${now - budget} above its budget`] : []
  })
  return [
    ...files.filter(({ file }) => owners(file) !== 1).map(({ file }) => `${file}: in no budget, or in two`),
    ...grown,
  ]
}

/** Finds import cycles between files (of types too) and between folders, each by its shortest path. */
export function cycles(files: SourceFile[]): string[] {
  const ofFiles = graph(arrows(files))
  const between = arrows(files).map(({ from, to }) => ({ from: folderOf(from), to: folderOf(to) }))
  return [...cyclesOf(ofFiles), ...cyclesOf(graph(between.filter(({ from, to }) => from !== to)))]
}

/** Finds imports of packages outside their folders. */
export function packages(files: SourceFile[]): string[] {
  const named = (specifier: string) =>
    specifier
      .split('/')
      .slice(0, specifier.startsWith('@') ? 2 : 1)
      .join('/')
  return files.flatMap((source) =>
    importsOf(source).flatMap((specifier) =>
      PACKAGES.filter(
        ([names, where]) => matches(named(specifier), names) && !matches(folderOf(source.file), where),
      ).map(([, where]) => `${source.file} imports ${specifier}: only ${where}`),
    ),
  )
}

const STATEMENT =
  /\$(queryRaw|executeRaw)|\bPrisma\.(sql|raw|join)\b|\bSELECT\s|\bINSERT INTO\s|\bUPDATE\s+\w+\s+SET\s|\bDELETE FROM\s/

/** Finds SQL and imports of generated Prisma code outside their folders. */
export function database(files: SourceFile[]): string[] {
  const outside = (where: string) => files.filter(({ file }) => !matches(folderOf(file), where))
  return [
    ...outside(SQL)
      .filter(({ text }) => STATEMENT.test(withoutComments(text)))
      .map(({ file }) => `${file} has SQL: only ${SQL}`),
    ...outside(GENERATED).flatMap((source) =>
      importsOf(source)
        .filter((to) => to.startsWith('generated/'))
        .map((to) => `${source.file} imports ${to}: only ${GENERATED}`),
    ),
  ]
}

/** Finds reads of `process.env` outside their folders. */
export function environment(files: SourceFile[]): string[] {
  return files
    .filter(({ file, text }) => /process\.env\b/.test(withoutComments(text)) && !matches(folderOf(file), ENVIRONMENT))
    .map(({ file }) => `${file} reads process.env: only ${ENVIRONMENT}`)
}

interface Arrow {
  from: string
  to: string
}

/** Returns the imports between own files. */
function arrows(files: SourceFile[]): Arrow[] {
  const ours = new Set(files.map(({ file }) => file))
  return files.flatMap((source) =>
    importsOf(source)
      .filter((to) => ours.has(to))
      .map((to) => ({ from: source.file, to })),
  )
}

function graph(all: Arrow[]): Map<string, Set<string>> {
  const result = new Map<string, Set<string>>()
  for (const { from, to } of all) result.set(from, (result.get(from) ?? new Set()).add(to))
  return result
}

/** Returns the shortest cycle through each node that has one, each cycle once. */
function cyclesOf(edges: Map<string, Set<string>>): string[] {
  const found = new Map<string, string>()
  for (const start of edges.keys()) {
    const cameFrom = new Map<string, string>()
    const queue = [start]
    for (let node = queue.shift(); node !== undefined && !cameFrom.has(start); node = queue.shift())
      for (const next of edges.get(node) ?? [])
        if (!cameFrom.has(next)) {
          cameFrom.set(next, node)
          queue.push(next)
        }
    if (!cameFrom.has(start)) continue
    const trail = [start]
    do trail.unshift(cameFrom.get(trail[0]!)!)
    while (trail[0] !== start)
    const key = [...new Set(trail)].sort().join(' ')
    if (!found.has(key)) found.set(key, trail.join(' → '))
  }
  return [...found.values()].map((trail) => `a cycle: ${trail}`)
}
