// Copies of programs that outlive their checkout: how they are created, and when they are removed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { folderProgram } from '../../src/platform/programs/folder.ts'
import { ensureCopy, removeUnusedCopies } from '../../src/platform/programs/programs.ts'

let root: string
let bin: string
beforeEach(async () => {
  root = await mkdtemp(path.join(os.tmpdir(), 'pilothouse-programs-'))
  bin = path.join(root, 'bin')
})
afterEach(() => rm(root, { recursive: true, force: true }))

/** A program as npm installs it: it runs until it is killed and has a library. */
function installed(version = '1'): string {
  const folder = path.join(root, 'node_modules')
  fs.mkdirSync(path.join(folder, 'bin'), { recursive: true })
  fs.mkdirSync(path.join(folder, 'lib'), { recursive: true })
  fs.writeFileSync(path.join(folder, 'bin/stay'), '#!/bin/sh\nread -r _\n', { mode: 0o700 })
  fs.writeFileSync(path.join(folder, 'lib/words.so.1'), `version ${version}`, { mode: 0o600 })
  return folder
}
const program = (version = '1') =>
  folderProgram(installed(version), `words ${version}`, new Map([['lib/words.so', 'lib/words.so.1']]))

const read = (folder: string, name: string) => fs.readFileSync(path.join(folder, name), 'utf8')
const mode = (folder: string, name: string) => (fs.statSync(path.join(folder, name)).mode & 0o777).toString(8)
const longAgo = new Date('2001-01-01')
const lastUsedLongAgo = (folder: string) => fs.utimesSync(folder, longAgo, longAgo)

async function running(file: string) {
  const child = spawn(file, { stdio: ['pipe', 'ignore', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child, 'spawn')
  return {
    async end() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}

test('servers that start together share one copy, which outlives its original', async () => {
  const folders = await Promise.all([1, 2, 3, 4].map(() => ensureCopy(bin, program())))
  expect(new Set(folders).size).toBe(1)
  expect(fs.readdirSync(bin)).toEqual([path.basename(folders[0]!)])
  fs.rmSync(path.join(root, 'node_modules'), { recursive: true })

  const [copy] = folders as [string]
  expect(read(copy, 'lib/words.so')).toBe('version 1')
  const stays = await running(path.join(copy, 'bin/stay'))
  await stays.end()
})

test('every account can run a copy, regardless of the installed modes', async () => {
  const umask = process.umask(0o077)
  onTestFinished(() => void process.umask(umask))
  const copy = await ensureCopy(bin, program())
  expect(['.', 'bin', 'bin/stay', 'lib/words.so'].map((name) => mode(copy, name))).toEqual(['755', '755', '755', '644'])
  expect(mode(bin, '.')).toBe('755')
})

test('another version has a copy of its own', async () => {
  const first = await ensureCopy(bin, program('1'))
  const second = await ensureCopy(bin, program('2'))
  expect([read(first, 'lib/words.so'), read(second, 'lib/words.so')]).toEqual(['version 1', 'version 2'])
})

test('a copy left empty by a power failure is created again', async () => {
  const copy = await ensureCopy(bin, program())
  fs.truncateSync(path.join(copy, 'lib/words.so.1'))
  expect(await ensureCopy(bin, program())).toBe(copy)
  expect(read(copy, 'lib/words.so')).toBe('version 1')
  expect(fs.readdirSync(bin)).toHaveLength(1)
})

test('a copy unused for a day is removed, but not while a process runs it', async () => {
  const [run, idle] = [await ensureCopy(bin, program('1')), await ensureCopy(bin, program('2'))]
  const stays = await running(path.join(run, 'bin/stay'))
  expect(await removeUnusedCopies(bin)).toEqual([])
  for (const folder of [run, idle]) lastUsedLongAgo(folder)
  expect(await removeUnusedCopies(bin)).toEqual([path.basename(idle)])
  expect(fs.readdirSync(bin)).toEqual([path.basename(run)])

  await stays.end()
  expect(await removeUnusedCopies(bin)).toEqual([path.basename(run)])
  expect(fs.readdirSync(bin)).toEqual([])
})

test('a copy requested again by a server counts as used', async () => {
  const copy = await ensureCopy(bin, program())
  lastUsedLongAgo(copy)
  await ensureCopy(bin, program())
  expect(await removeUnusedCopies(bin)).toEqual([])
})

test('removal without copies does nothing', async () => {
  expect(await removeUnusedCopies(bin)).toEqual([])
})
