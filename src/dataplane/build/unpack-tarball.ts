/**
 * Unpacks an uploaded source tarball. It is untrusted: every size is limited, every name is checked, and nothing is written
 * outside the folder.
 */
import type fs from 'node:fs'
import { addAbortSignal, pipeline, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { Parser, type ReadEntry } from 'tar'
import { isNoSpaceError, noSpaceFailure, StepFailure } from '../output/step-failure.ts'
import { MAX_UNPACKED_BYTES, refuse, TarballTree } from './tarball-tree.ts'

const BLOCK_BYTES = 512
const GZIP_MAGIC = Buffer.from([0x1f, 0x8b])

/**
 * Unpacks a gzip tarball into an empty folder; memory holds one chunk. Throws StepFailure for a refused or damaged tarball; the
 * caller then removes the folder. No write is pending when it settles.
 */
export async function unpackTarball(source: Readable, folder: string, signal: AbortSignal): Promise<void> {
  const tree = new TarballTree(folder)
  const entries = new EntryReader(tree)
  const unzipped = addAbortSignal(signal, createGunzip({ chunkSize: 64 * 1024 }))
  let head = Buffer.alloc(0)
  source.on('data', (chunk: Buffer) => {
    if (head.length < GZIP_MAGIC.length) head = Buffer.concat([head, chunk]).subarray(0, GZIP_MAGIC.length)
  })
  // an error in either stream ends both and is thrown by the loop
  pipeline(source, unzipped, () => {})
  let bytes = 0
  try {
    for await (const chunk of unzipped as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MAX_UNPACKED_BYTES) throw tooLarge()
      await entries.read(chunk)
    }
    await entries.end()
    if (tree.empty)
      throw new StepFailure('TARBALL_INVALID', 'The source tarball is empty: pack the files of your source into it.')
    await tree.makeLinks(signal)
  } catch (error) {
    signal.throwIfAborted()
    throw explainError(error, head.equals(GZIP_MAGIC))
  } finally {
    await entries.close()
    source.destroy()
    unzipped.destroy()
  }
}

/**
 * Turns bytes of a tar archive into files. The parser reports all entries of a chunk together; a queue writes them one by one.
 */
class EntryReader {
  readonly #tree: TarballTree
  readonly #parser = new Parser({ strict: true })
  #queue: (() => Promise<void>)[] = []
  #file: fs.promises.FileHandle | null = null
  #ended = false
  #hasEntries = false

  constructor(tree: TarballTree) {
    this.#tree = tree
    this.#parser.on('entry', (entry) => this.#onEntry(entry))
    this.#parser.on('ignoredEntry', ({ path, meta, type }) => {
      const why = meta ? 'has a name that is too long' : `is of a type that is not unpacked (${type})`
      this.#fail(refuse(path, why))
    })
    this.#parser.on('meta', (text: string) => {
      if (/^\d+ GNU\.sparse\./m.test(text))
        this.#fail(new StepFailure('TARBALL_INVALID', 'The source tarball has sparse files: pack it without --sparse.'))
    })
    this.#parser.on('error', () => this.#fail(this.#damaged()))
    this.#parser.on('eof', () => {
      this.#ended = true
    })
    // write one zero block first: the parser decompresses an archive that starts like compressed data
    this.#parser.write(Buffer.alloc(BLOCK_BYTES))
  }

  async read(chunk: Buffer): Promise<void> {
    // the parser would buffer data after the end mark
    if (this.#ended) return
    try {
      this.#parser.write(chunk)
    } catch {
      this.#fail(this.#damaged())
    }
    await this.#runQueue()
  }

  async end(): Promise<void> {
    // after the end mark, no data can be missing
    if (!this.#ended) this.#parser.end()
    await this.#runQueue()
  }

  async close(): Promise<void> {
    await this.#file?.close()
    this.#file = null
  }

  #enqueue(step: () => Promise<void>): void {
    this.#queue.push(step)
  }

  #fail(failure: StepFailure): void {
    this.#enqueue(() => Promise.reject(failure))
  }

  async #runQueue(): Promise<void> {
    const todo = this.#queue
    this.#queue = []
    for (const step of todo) await step()
  }

  #onEntry(entry: ReadEntry): void {
    this.#hasEntries = true
    const { path: name, type, size, mode = 0, linkpath = '' } = entry
    if (!(size >= 0)) this.#fail(this.#damaged())
    if (size > MAX_UNPACKED_BYTES) this.#fail(tooLarge())
    this.#enqueue(async () => {
      switch (type) {
        case 'File':
        case 'OldFile':
        case 'ContiguousFile':
          this.#file = await this.#tree.addFile(name, (mode & 0o111) !== 0)
          return
        case 'Directory':
          return this.#tree.addFolder(name)
        case 'SymbolicLink':
          return this.#tree.addSymlink(name, linkpath)
        case 'Link':
          return this.#tree.addHardLink(name, linkpath)
        default:
          throw refuse(name, 'is a device or a pipe: only files, folders and links are unpacked')
      }
    })
    entry.on('data', (bytes: Buffer) =>
      this.#enqueue(async () => {
        await this.#file?.writeFile(bytes)
      }),
    )
    entry.on('end', () => this.#enqueue(() => this.close()))
  }

  #damaged(): StepFailure {
    return new StepFailure(
      'TARBALL_INVALID',
      this.#hasEntries
        ? 'The source tarball is damaged or cut off: pack and upload it again.'
        : 'The source is not a tar archive in its gzip compression: upload a .tar.gz.',
    )
  }
}

function tooLarge(): StepFailure {
  return new StepFailure(
    'TARBALL_INVALID',
    `The source tarball was refused: unpacked it is larger than ${MAX_UNPACKED_BYTES / 1024 ** 2} MiB.`,
  )
}

/** `isGzip`: it starts with gzip's magic bytes; zlib has one code for "not gzip" and "damaged". */
function explainError(error: unknown, isGzip: boolean): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error
  if (error.code === 'Z_BUF_ERROR')
    return new StepFailure('TARBALL_INVALID', 'The source tarball is cut off: upload it again.')
  if (error.code === 'Z_DATA_ERROR')
    return new StepFailure(
      'TARBALL_INVALID',
      isGzip
        ? 'The source tarball is damaged: pack and upload it again.'
        : 'The source tarball is not gzip-compressed: upload a .tar.gz.',
    )
  if (isNoSpaceError(error)) return noSpaceFailure()
  return error
}
