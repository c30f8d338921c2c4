/** The TypeScript client for CI, bots and scripts (docs/client.md, README.md). Its types come from the OpenAPI document. It imports no server code. */
import { type ClientOptions, connect, type RawRequest, send } from './connection.ts'
import { type DeployOptions, deploy, type RollbackOptions, rollback } from './deploy.ts'
import { findDeployment } from './find.ts'
import { followLogs, type LogOptions, type WatchOptions, watch } from './follow.ts'
import { type UploadOptions, uploadSource } from './upload-source.ts'
import { type RestartWaitOptions, type WaitOptions, waitUntilRestarted, waitUntilTerminal } from './wait.ts'

export type { ClientOptions } from './connection.ts'
export type { DeployBody, DeployOptions, DeployResult, Secret, SecretsChange } from './deploy.ts'
export { type Code, type Issue, PilothouseError, UnreachableError, WaitTimeoutError } from './errors.ts'
export { type LogLine, type LogOptions, logQuery } from './follow.ts'
export type { components, Deployment, ErrorCode, Event, paths, Revision } from './openapi.ts'
export { isTerminal } from './wait.ts'

/** Throws TypeError for invalid options. The first call connects. */
export function createClient(options: ClientOptions) {
  const connection = connect(options)
  return {
    api: connection.api,
    /** Calls a path that the types don't know. */
    send: (request: RawRequest) => send(connection, request),
    /** Finds a live deployment by id or name. Throws PilothouseError (NOT_FOUND). */
    find: (nameOrId: string, signal?: AbortSignal) => findDeployment(connection, nameOrId, signal),
    /** Creates the deployment, or updates the one with this name. */
    deploy: (options: DeployOptions) => deploy(connection, options),
    /** Uploads a tarball and returns its `source_tarball_path`. */
    uploadSource: (options: UploadOptions) => uploadSource(connection, options),
    /** Redeploys an earlier revision and returns its id. */
    rollback: (options: RollbackOptions) => rollback(connection, options),
    /** Returns the revision when it has ended, with any outcome. */
    waitUntilTerminal: (options: WaitOptions) => waitUntilTerminal(connection, options),
    /** Returns the deployment when no restart is pending. */
    waitUntilRestarted: (options: RestartWaitOptions) => waitUntilRestarted(connection, options),
    /** Yields events as they happen, optionally after a cursor. */
    watch: (options: WatchOptions) => watch(connection, options),
    /** Yields log lines as they are written. */
    followLogs: (options: LogOptions) => followLogs(connection, options),
  }
}

export type Client = ReturnType<typeof createClient>
