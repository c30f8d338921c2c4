/**
 * A client of Pilothouse, for CI, bots and scripts (docs/client.md). Typed by the server's OpenAPI document; uses Node's fetch and nothing of
 * the server. Every call may be given a signal, and tries again where that can do no harm.
 */
import { type ClientOptions, type Connection, connect } from './connection.ts'
import { type Deployed, type DeployOptions, deploy } from './deploy.ts'
import { findDeployment } from './find.ts'
import { followLogs, type LogLine, type LogOptions } from './logs.ts'
import type { Deployment, Event, Revision } from './openapi.ts'
import { type RollbackOptions, rollback } from './rollback.ts'
import { type UploadOptions, uploadSource } from './source.ts'
import { type WaitOptions, waitUntilTerminal } from './wait.ts'
import { type WatchOptions, watch } from './watch.ts'

export type { ClientOptions } from './connection.ts'
export type { DeployBody, Deployed, DeployOptions } from './deploy.ts'
export { type Code, type Issue, PilothouseError, UnreachableError, WaitTimeoutError } from './errors.ts'
export type { LogLine, LogOptions } from './logs.ts'
export type { components, Deployment, ErrorCode, Event, paths, Revision } from './openapi.ts'
export type { Secret, SecretsChange } from './secrets.ts'
export { isTerminal } from './wait.ts'

export interface Client extends Pick<Connection, 'api'> {
  /** the live deployment of this name, else that of this id */
  find(nameOrId: string, signal?: AbortSignal): Promise<Deployment>
  /** creates the deployment, or updates the one that has its name */
  deploy(options: DeployOptions): Promise<Deployed>
  /** uploads a tarball; answers its `source_tarball_path` */
  uploadSource(options: UploadOptions): Promise<string>
  /** redeploys what was deployed before; answers the revision's id */
  rollback(options: RollbackOptions): Promise<string>
  /** the revision as soon as it has ended, however it did */
  waitUntilTerminal(options: WaitOptions): Promise<Revision>
  /** events as they happen, and since a cursor */
  watch(options: WatchOptions): AsyncIterable<Event>
  /** lines as they are written */
  followLogs(options: LogOptions): AsyncIterable<LogLine>
}

/** Throws TypeError for options that can't be used. Connects with the first call. */
export function createClient(options: ClientOptions): Client {
  const connection = connect(options)
  return {
    api: connection.api,
    find: (nameOrId, signal) => findDeployment(connection, nameOrId, signal),
    deploy: (how) => deploy(connection, how),
    uploadSource: (how) => uploadSource(connection, how),
    rollback: (how) => rollback(connection, how),
    waitUntilTerminal: (how) => waitUntilTerminal(connection, how),
    watch: (how) => watch(connection, how),
    followLogs: (how) => followLogs(connection, how),
  }
}
