/**
 * The environment of builds and agents: made from nothing, so that nothing of the server's can be in it.
 */

export interface AppEnvironment {
  path: string
  home: string
  secrets: { name: string; value: string }[]
  databaseUri: string
  deploymentId: string
  revisionId: string
}

/** Fixed names win over secrets of the same name. */
export function appEnvironment(app: AppEnvironment): Record<string, string> {
  return {
    ...Object.fromEntries(app.secrets.map(({ name, value }) => [name, value])),
    PATH: app.path,
    HOME: app.home,
    DATABASE_URI: app.databaseUri,
    POSTGRES_URI: app.databaseUri,
    PILOTHOUSE_DEPLOYMENT_ID: app.deploymentId,
    PILOTHOUSE_REVISION_ID: app.revisionId,
  }
}
