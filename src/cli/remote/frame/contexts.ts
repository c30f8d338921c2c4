/**
 * Contexts: the servers that a person works with, each with its key. One file for each in the user's config folder, so
 * that two processes that write at the same moment lose nothing.
 */
import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Call, UsageError } from '../../terminal/command.ts'

export interface Context {
  url: string
  key: string
  /** the workspace, for an organization-wide key */
  tenant?: string
  /** `login` got the key for this machine, so `logout` revokes it */
  login?: boolean
}

type Env = Call['env']

/** Also a file name. */
const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/

export function checkName(name: string): string {
  if (NAME.test(name)) return name
  throw new UsageError(
    `The name of a context must have 1 to 63 characters of a-z, 0-9, dot, underscore and hyphen, not ${JSON.stringify(name)}.`,
  )
}

/** The default name of a server's context: its host and port. */
const nameOf = (url: string): string => new URL(url).host.replace(/[^a-z0-9.-]+/g, '-').replace(/^-|-$/g, '')

/** Names in alphabetical order. */
export function contextNames(env: Env): string[] {
  const suffix = '.json'
  const files = orMissing(() => fs.readdirSync(folder(env, 'contexts')), [])
  const names = files.filter((file) => file.endsWith(suffix)).map((file) => file.slice(0, -suffix.length))
  return names.filter((name) => NAME.test(name)).sort()
}

/** null: none is chosen, or the chosen one was removed. */
export function currentName(env: Env): string | null {
  const name = orMissing(() => fs.readFileSync(folder(env, 'current'), 'utf8'), '').trim()
  return contextNames(env).includes(name) ? name : null
}

/** null: no such context. Throws UsageError for a damaged file. */
export function readContext(env: Env, name: string): Context | null {
  const file = fileOf(env, checkName(name))
  const text = orMissing(() => fs.readFileSync(file, 'utf8'), null)
  if (text === null) return null
  try {
    const { url, key, tenant, login } = JSON.parse(text)
    if (typeof url === 'string' && typeof key === 'string') return { url, key, tenant, login }
  } catch {
    // reported below
  }
  throw new UsageError(`The context ${name} is damaged. Remove the file ${file}, then log in again.`)
}

/**
 * Stores a context and makes it the current one. Returns its name: by default the host and port of `url`. Replaces a
 * context of the same name.
 */
export function saveContext(env: Env, context: Context, name = nameOf(context.url)): string {
  writeAtomically(fileOf(env, checkName(name)), `${JSON.stringify(context, null, 2)}\n`)
  useContext(env, name)
  return name
}

export function useContext(env: Env, name: string): void {
  writeAtomically(folder(env, 'current'), `${name}\n`)
}

export function removeContext(env: Env, name: string): void {
  fs.rmSync(fileOf(env, name), { force: true })
}

const fileOf = (env: Env, name: string) => path.join(folder(env, 'contexts'), `${name}.json`)

function folder(env: Env, below: string): string {
  const home = env.HOME ?? os.homedir()
  const base =
    process.platform === 'darwin' ? path.join(home, 'Library/Application Support') : path.join(home, '.config')
  const windows = process.platform === 'win32' ? env.APPDATA : undefined
  return path.join(env.XDG_CONFIG_HOME || windows || base, 'pilothouse', below)
}

/** Readers see the old or the new content. Only this user may read it. */
function writeAtomically(file: string, text: string): void {
  fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${randomBytes(6).toString('hex')}.tmp`
  try {
    fs.writeFileSync(draft, text, { mode: 0o600, flag: 'wx', flush: true })
    fs.renameSync(draft, file)
  } catch (error) {
    fs.rmSync(draft, { force: true })
    throw new UsageError(`${file} can't be written (${(error as NodeJS.ErrnoException).code}).`)
  }
}

function orMissing<T, M>(read: () => T, missing: M): T | M {
  try {
    return read()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code!)) return missing
    throw new UsageError((error as Error).message)
  }
}
