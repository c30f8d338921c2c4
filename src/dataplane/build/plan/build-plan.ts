/**
 * The build plan: made by `planBuild`, carried out by a runtime or turned into a Dockerfile. It is JSON, stored with the artifact
 * and read back with `buildPlan`. Paths are relative to the source root, with `/` (`.` is the root), and never lead outside.
 */
import { z } from 'zod'

const path = z.string()

const step = z.object({
  /** folder that it runs in */
  folder: path,
  /**
   * program and arguments. In a Python plan `python` and `uv` are those of the build's virtual environment: its `bin` is first in
   * PATH, and VIRTUAL_ENV and UV_PROJECT_ENVIRONMENT name its folder
   */
  command: z.array(z.string()).min(1),
  /**
   * the only files that the step reads, so its layer can be reused while they are unchanged; empty: none. null: it may read any
   * file
   */
  needs: z.array(path).nullable(),
})

/** A line for `sh -c`, with PORT in its environment. */
const start = z.object({
  folder: path,
  /** command that must succeed first: the `prestart` script of a package.json. null: none */
  prestart: z.string().nullable(),
  command: z.string(),
  /** source of the command, for people: `the start script of "package.json"` */
  from: z.string(),
})

const common = {
  /** graph configuration file, or the file used in its place */
  graphConfig: path,
  /** an application without graphs, deployed as it is; default: false */
  asItIs: z.boolean().optional(),
  /** path of health checks; absent: the graph configuration file sets none */
  healthPath: z.string().optional(),
  /** warnings for the build log, about settings without effect */
  notes: z.array(z.string()),
}

const program = {
  ...common,
  /**
   * `own`: the tree starts its own server. `supplied`: the tree has only graphs, and `supplied` serves them; `start` is then that
   * server's command, with GRAPH_CONFIG (absolute path of the graph configuration file) in its environment
   */
  server: z.enum(['own', 'supplied']),
  supplied: z
    .object({
      /**
       * npm specs or pip requirements, installed in a shared folder or layer without any file of the tree. Its `bin` comes after
       * the tree's in PATH. Python: the tree's packages come before the server's, in the paths of both
       */
      packages: z.array(z.string()).min(1),
    })
    .nullable(),
  /** requested language version (`node_version`, `python_version`); null: any */
  version: z.string().nullable(),
  install: z.array(step),
  start,
}

const dockerfile = z.object({
  kind: z.literal('dockerfile'),
  server: z.literal('own'),
  ...common,
  dockerfile: path,
  /** the engine's context folder: that of the graph configuration file */
  context: path,
})

const node = z.object({
  kind: z.literal('node'),
  ...program,
  /** package manager; corepack can provide any but npm */
  manager: z.enum(['npm', 'pnpm', 'yarn']),
  /** the revision's build_command, for `sh -c`; null: none */
  build: z.object({ folder: path, command: z.string() }).nullable(),
})

const python = z.object({
  kind: z.literal('python'),
  ...program,
  /** package manager of the virtual environment */
  manager: z.enum(['uv', 'pip']),
  /** folders for the start of PYTHONPATH, so a supplied server finds their modules. Empty when the tree has its own server */
  importable: z.array(path),
})

export const buildPlan = z.discriminatedUnion('kind', [dockerfile, node, python])

export type BuildPlan = z.output<typeof buildPlan>
export type DockerfilePlan = z.output<typeof dockerfile>
export type NodePlan = z.output<typeof node>
export type PythonPlan = z.output<typeof python>
export type InstallStep = z.output<typeof step>
export type Start = z.output<typeof start>
