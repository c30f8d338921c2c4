/** Keeps the certificate of the port of all deployments, which a server sends. */
import fs from 'node:fs'
import tls from 'node:tls'
import type { Certificate } from '../dataplane/process/door/messages.ts'
import { writeAtomically } from '../platform/files/atomic-file.ts'

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
