/** Keeps what a server sends to the door: the certificate of the port of all deployments, and the access rules. */
import fs from 'node:fs'
import path from 'node:path'
import tls from 'node:tls'
import type { Certificate } from '../dataplane/process/door/messages.ts'
import type { AccessCopy, AccessNews } from '../domain/values/access-copy.ts'
import { writeAtomically } from '../platform/files/atomic-file.ts'
import type { AccessLog } from './access-log.ts'
import type { Guard } from './guard.ts'

/** The certificate of a door, and its file for the next door, which only the door's account can read. */
export class CertificateStore {
  #current: Certificate | null = null
  readonly #file: string | null
  readonly #listeners = new Set<(certificate: Certificate) => void>()

  /** `file`: null keeps the certificate in memory only. */
  constructor(file: string | null = null) {
    this.#file = file
    try {
      if (file) this.#current = JSON.parse(fs.readFileSync(file, 'utf8')) as Certificate
    } catch {
      // no server has sent one
    }
  }

  get current(): Certificate | null {
    return this.#current
  }

  /** New connections get it; null: there is no TLS any more. Throws when certificate and key don't fit. */
  set(certificate: Certificate | null): void {
    if (certificate?.cert === this.#current?.cert && certificate?.key === this.#current?.key) return
    if (certificate) tls.createSecureContext(certificate)
    this.#current = certificate
    if (certificate) for (const listener of this.#listeners) listener(certificate)
    this.#keep()
  }

  #keep(): void {
    if (!this.#file) return
    try {
      if (!this.#current) return void fs.rmSync(this.#file, { force: true })
      writeAtomically(this.#file, JSON.stringify(this.#current))
    } catch {
      // the disk is full: the next door waits for a server
    }
  }

  /** Calls `listener` now, if there is a certificate, and with each later one. */
  follow(listener: (certificate: Certificate) => void): void {
    this.#listeners.add(listener)
    if (this.#current) listener(this.#current)
  }

  unfollow(listener: (certificate: Certificate) => void): void {
    this.#listeners.delete(listener)
  }
}

/** Between two updates of the file's time, which says when a server last confirmed the copy. */
const TOUCH_MS = 60_000

/** interval in which a door that was replaced looks at the file */
const FOLLOW_MS = 1000

/** Gets the copies. */
type Copies = Pick<Guard, 'set' | 'confirm'>
type Kept<News extends AccessNews> = News & { copy: AccessCopy }

/** Keeps the guard's copy in the door's folder, for the next door. */
export class AccessStore<News extends AccessNews = AccessNews> {
  readonly #file: string
  readonly #guard: Copies
  readonly #accessLog: AccessLog | undefined
  #kept: Kept<News> | null = null
  #touchedAt = 0

  /** `accessLog`: absent when the server's settings don't decide about it. */
  constructor(folder: string, guard: Copies, accessLog?: AccessLog) {
    this.#file = path.join(folder, 'access.json')
    this.#guard = guard
    this.#accessLog = accessLog
    this.#load()
  }

  /** Null: no server has sent one. */
  get kept(): Kept<News> | null {
    return this.#kept
  }

  /** Reads again what the door that took over got: clients may use open connections to this one for long. */
  follow(): void {
    fs.watchFile(this.#file, { interval: FOLLOW_MS, persistent: false }, () => this.#load())
  }

  #load(): void {
    try {
      this.#kept = JSON.parse(fs.readFileSync(this.#file, 'utf8')) as Kept<News>
      const { copy, settings } = this.#kept
      this.#guard.set(copy, settings, fs.statSync(this.#file).mtimeMs)
      this.#accessLog?.setFile(settings.accessLog ?? null)
    } catch {
      // no server has sent one
    }
  }

  /** False: the copy is needed. */
  take(news: News): boolean {
    const copy = news.copy ?? (this.#kept?.hash === news.hash ? this.#kept.copy : null)
    if (!copy) return false
    const kept = { ...news, copy }
    // the settings may change without the copy, which is large
    const withoutCopy = (one: News | null) => JSON.stringify({ ...one, copy: null })
    if (news.copy || withoutCopy(kept) !== withoutCopy(this.#kept)) this.#keep(kept)
    else this.#confirm()
    return true
  }

  #keep(kept: Kept<News>): void {
    this.#guard.set(kept.copy, kept.settings)
    this.#accessLog?.setFile(kept.settings.accessLog ?? null)
    this.#kept = kept
    try {
      writeAtomically(this.#file, JSON.stringify(kept))
      this.#touchedAt = Date.now()
    } catch {
      // the disk is full: the next change tries again
    }
  }

  #confirm(): void {
    this.#guard.confirm()
    if (Date.now() - this.#touchedAt < TOUCH_MS) return
    this.#touchedAt = Date.now()
    fs.utimes(this.#file, new Date(), new Date(), () => undefined)
  }
}
