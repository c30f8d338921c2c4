/** The TypeScript client for CI, bots and scripts (docs/client.md, README.md). Its types come from the OpenAPI document. It imports no server code. */
import { type ClientOptions, type Connection, connect } from './connection.ts'
import { type DeployOptions, type DeployResult, deploy } from './deploy.ts'
import { findDeployment } from './find.ts'
import { followLogs, type LogLine, type LogOptions } from './logs.ts'
import type { Deployment, Event, Revision } from './openapi.ts'
import { type RollbackOptions, rollback } from './rollback.ts'
import { type UploadOptions, uploadSource } from './upload-source.ts'
import { type WaitOptions, waitUntilTerminal } from './wait.ts'
import { type WatchOptions, watch } from './watch.ts'

export type { ClientOptions } from './connection.ts'
export type { DeployBody, DeployOptions, DeployResult } from './deploy.ts'
export { type Code, type Issue, PilothouseError, UnreachableError, WaitTimeoutError } from './errors.ts'
export type { LogLine, LogOptions } from './logs.ts'
export type { components, Deployment, ErrorCode, Event, paths, Revision } from './openapi.ts'
export type { Secret, SecretsChange } from './secrets.ts'
export { isTerminal } from './wait.ts'

export interface Client extends Pick<Connection, 'api'> {
  /** Finds a live deployment by id or name. Throws PilothouseError (NOT_FOUND). */
  find(nameOrId: string, signal?: AbortSignal): Promise<Deployment>
  /** Creates the deployment, or updates the one with this name. */
  deploy(options: DeployOptions): Promise<DeployResult>
  /** Uploads a tarball and returns its `source_tarball_path`. */
  uploadSource(options: UploadOptions): Promise<string>
  /** Redeploys an earlier revision and returns its id. */
  rollback(options: RollbackOptions): Promise<string>
  /** Returns the revision when it has ended, with any outcome. */
  waitUntilTerminal(options: WaitOptions): Promise<Revision>
  /** Yields events as they happen, optionally after a cursor. */
  watch(options: WatchOptions): AsyncIterable<Event>
  /** Yields log lines as they are written. */
  followLogs(options: LogOptions): AsyncIterable<LogLine>
}

/** Throws TypeError for invalid options. The first call connects. */
export function createClient(options: ClientOptions): Client {
  const connection = connect(options)
  return {
    api: connection.api,
    find: (nameOrId, signal) => findDeployment(connection, nameOrId, signal),
    deploy: (options) => deploy(connection, options),
    uploadSource: (options) => uploadSource(connection, options),
    rollback: (options) => rollback(connection, options),
    waitUntilTerminal: (options) => waitUntilTerminal(connection, options),
    watch: (options) => watch(connection, options),
    followLogs: (options) => followLogs(connection, options),
  }
}
