/**
 * What accounts have left in places of a machine where everybody may write: an id is given to nobody else while something
 * of it is there.
 */
import { execFile } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import { promisify } from 'node:util'
import type { UidRange } from './range.ts'

const exec = promisify(execFile)

const LOOK_MS = 60_000

/** `find` stays within each: what is mounted below it is named here, or is nobody's to write to. */
const PUBLIC = ['/tmp', '/var/tmp', '/dev/shm', '/dev/mqueue', '/run/lock']

/** kind → option of ipcrm, column of its id in /proc/sysvipc */
const SYSTEM_V = { shm: '-m', msg: '-q', sem: '-s' }

function places(): string[] {
  const real = [...PUBLIC, os.tmpdir()].flatMap((folder) => (fs.existsSync(folder) ? [fs.realpathSync(folder)] : []))
  return [...new Set(real)]
}

/**
 * The ids of the range, and of those beside it, that have files there, or shared memory and the like. Rejects when that
 * takes too long to find out.
 */
export async function idsLeftBehind({ low, high }: UidRange, beside: readonly number[]): Promise<Set<number>> {
  const wanted = ['(', '-uid', `+${low - 1}`, '-uid', `-${high + 1}`, ')', ...beside.flatMap(orUid)]
  return idsOf(await find(['(', ...wanted, ')', '-printf', '%U\\n']))
}

/** Removes what they have there. Gives those of which something can't be removed. */
export async function removeLeftBehind(uids: readonly number[]): Promise<Set<number>> {
  for (const { kind, id, uid } of systemV())
    if (uids.includes(uid)) await exec('ipcrm', [SYSTEM_V[kind], id]).catch(() => undefined)
  return idsOf(await find(['-depth', '(', '-false', ...uids.flatMap(orUid), ')', '!', '-delete', '-printf', '%U\\n']))
}

function idsOf(found: string): Set<number> {
  return new Set([...found.split('\n').filter(Boolean).map(Number), ...systemV().map(({ uid }) => uid)])
}

const orUid = (uid: number) => ['-o', '-uid', String(uid)]

async function find(expression: string[]): Promise<string> {
  const options = { timeout: LOOK_MS, maxBuffer: 256 * 1024 * 1024 }
  try {
    const { stdout } = await exec('find', ['-P', ...places(), '-xdev', ...expression], options)
    return stdout
  } catch (error) {
    const { code, stdout } = error as { code?: number | string; stdout?: string }
    // 1: something was removed while it looked
    if (code === 1) return stdout ?? ''
    throw error
  }
}

function systemV(): { kind: keyof typeof SYSTEM_V; id: string; uid: number }[] {
  return (Object.keys(SYSTEM_V) as (keyof typeof SYSTEM_V)[]).flatMap((kind) => {
    const file = `/proc/sysvipc/${kind}`
    const [head = '', ...lines] = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : []
    const columns = head.trim().split(/\s+/)
    const at = (name: string) => columns.indexOf(name)
    return lines.map((line) => {
      const values = line.trim().split(/\s+/)
      return { kind, id: values[at(`${kind}id`)] ?? '', uid: Number(values[at('cuid')]) }
    })
  })
}
