BEGIN TRANSACTION;
CREATE TABLE attempts (
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    kind TEXT NOT NULL,
    parents TEXT NOT NULL,
    text TEXT NOT NULL,
    who TEXT NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost REAL NOT NULL,
    seconds REAL NOT NULL,
    cut_off INTEGER NOT NULL,
    refusal TEXT NOT NULL,
    PRIMARY KEY (number, attempt)
) STRICT;
INSERT INTO "attempts" VALUES(1,0,1,'diff','[0]','<NAME>','composer',1000,20,0.5,30.0,0,'');
INSERT INTO "attempts" VALUES(4,0,4,'crossing','[0]','an answer','composer',0,0,0.0,5.0,0,'block 1 of 2 (line 7 of the answer): its SEARCH is nowhere in the program: line 1 of it is ''x = 1'', nearest is line 12, ''y = 2''; copy the lines from the program as they are');
INSERT INTO "attempts" VALUES(4,1,4,'crossing','[0]','an answer','composer',0,0,0.0,5.0,0,'block 3 of 3 (line 40 of the answer): its SEARCH is nowhere in the program: nothing is like its first line, ''for''; copy the lines from the program as they are');
INSERT INTO "attempts" VALUES(4,2,4,'crossing','[0]','an answer','composer',0,0,0.0,5.0,0,'the child does not compile: invalid syntax at its line 3, ''def f(:''; send a change that does');
INSERT INTO "attempts" VALUES(4,3,4,'crossing','[0]','an answer','composer',0,0,0.0,5.0,0,'the answer was cut off before its end; give a shorter one, and all of it');
INSERT INTO "attempts" VALUES(4,4,4,'crossing','[0]','an answer','composer',0,0,0.0,5.0,0,'program 12 is the same, but for its comments; change something');
INSERT INTO "attempts" VALUES(4,5,4,'crossing','[0]','taken','openai some-model',0,0,0.0,0.0,0,'');
INSERT INTO "attempts" VALUES(5,0,5,'diff','[0]','','nobody',0,0,0.0,0.0,0,'openai:m at http://127.0.0.1:1/v1: no sign of life within 300 s, tried once; raise the timeout');
INSERT INTO "attempts" VALUES(6,0,6,'diff','[0]','x','composer',0,0,0.0,0.0,0,'a reason that no version knows; do otherwise');
CREATE TABLE programs (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    source TEXT NOT NULL,
    parents TEXT NOT NULL,
    generation INTEGER NOT NULL,
    island INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    digest TEXT NOT NULL
) STRICT;
INSERT INTO "programs" VALUES(0,'start','What program 0 does.','"""Place models on GPUs."""

GPU_MEMORY = 80


def load(model):
    return model.req_rate / model.slo


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Put every model where the pressure stays lowest."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [GPU_MEMORY] * gpu_num
    loads = [0.0] * gpu_num
    for model in sorted(models, key=load, reverse=True):
        fitting = [gpu for gpu in range(gpu_num) if free[gpu] > model.model_size]
        best = min(fitting, key=lambda gpu: loads[gpu] / free[gpu])
        placement[best].append(model)
        free[best] -= model.model_size
        loads[best] += load(model)
    return placement
# EVOLVE-BLOCK-END
','[]',0,0,'{"suite": "adrs", "score": 13.5, "ratio": 0.5, "valid_cases": 2, "cases": 2, "worst_case": "adrs-00", "worst_ratio": 0.5, "seconds": 0.02, "cpu_seconds": 0.02, "failures": [], "results": [{"case": "adrs-00", "pressure": 0.08, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.5}, {"case": "adrs-01", "pressure": 0.08, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.5}], "hidden": {"score": 13.5, "ratio": 0.5, "valid_cases": 1, "cases": 1, "worst_case": "hidden-00", "worst_ratio": 0.5, "seconds": 0.01, "cpu_seconds": 0.01, "failures": [], "results": [{"case": "hidden-00", "pressure": 0.08, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.5}]}, "walls": ["namespaces", "seccomp", "limits"], "runs": 1, "steady": true}','0123456789abcdef');
INSERT INTO "programs" VALUES(1,'program_1','What program 1 does.','"""Place models on GPUs."""

GPU_MEMORY = 81


def load(model):
    return model.req_rate / model.slo


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Put every model where the pressure stays lowest."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [GPU_MEMORY] * gpu_num
    loads = [0.0] * gpu_num
    for model in sorted(models, key=load, reverse=True):
        fitting = [gpu for gpu in range(gpu_num) if free[gpu] > model.model_size]
        best = min(fitting, key=lambda gpu: loads[gpu] / free[gpu])
        placement[best].append(model)
        free[best] -= model.model_size
        loads[best] += load(model)
    return placement
# EVOLVE-BLOCK-END
','[0]',1,0,'{"suite": "adrs", "score": 21.0, "ratio": 0.8, "valid_cases": 2, "cases": 2, "worst_case": "adrs-00", "worst_ratio": 0.8, "seconds": 0.02, "cpu_seconds": 0.02, "failures": [], "results": [{"case": "adrs-00", "pressure": 0.049999999999999996, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.8}, {"case": "adrs-01", "pressure": 0.049999999999999996, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.8}], "hidden": {"score": 21.0, "ratio": 0.8, "valid_cases": 1, "cases": 1, "worst_case": "hidden-00", "worst_ratio": 0.8, "seconds": 0.01, "cpu_seconds": 0.01, "failures": [], "results": [{"case": "hidden-00", "pressure": 0.049999999999999996, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.8}]}, "walls": ["namespaces", "seccomp", "limits"], "runs": 1, "steady": true}','0123456789abcdef');
INSERT INTO "programs" VALUES(2,'program_2','What program 2 does.','"""Place models on GPUs."""

GPU_MEMORY = 82


def load(model):
    return model.req_rate / model.slo


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Put every model where the pressure stays lowest."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [GPU_MEMORY] * gpu_num
    loads = [0.0] * gpu_num
    for model in sorted(models, key=load, reverse=True):
        fitting = [gpu for gpu in range(gpu_num) if free[gpu] > model.model_size]
        best = min(fitting, key=lambda gpu: loads[gpu] / free[gpu])
        placement[best].append(model)
        free[best] -= model.model_size
        loads[best] += load(model)
    return placement
# EVOLVE-BLOCK-END
','[1]',2,0,'{"suite": "adrs", "score": 18.5, "ratio": 0.7, "valid_cases": 2, "cases": 2, "worst_case": "adrs-00", "worst_ratio": 0.7, "seconds": 0.02, "cpu_seconds": 0.02, "failures": [], "results": [{"case": "adrs-00", "pressure": 0.05714285714285715, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.7}, {"case": "adrs-01", "pressure": 0.05714285714285715, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.7}], "hidden": {"score": 18.5, "ratio": 0.7, "valid_cases": 1, "cases": 1, "worst_case": "hidden-00", "worst_ratio": 0.7, "seconds": 0.01, "cpu_seconds": 0.01, "failures": [], "results": [{"case": "hidden-00", "pressure": 0.05714285714285715, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.7}]}, "walls": ["namespaces", "seccomp", "limits"], "runs": 1, "steady": true}','0123456789abcdef');
INSERT INTO "programs" VALUES(3,'program_3','What program 3 does.','"""Place models on GPUs."""

GPU_MEMORY = 83


def load(model):
    return model.req_rate / model.slo


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Put every model where the pressure stays lowest."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [GPU_MEMORY] * gpu_num
    loads = [0.0] * gpu_num
    for model in sorted(models, key=load, reverse=True):
        fitting = [gpu for gpu in range(gpu_num) if free[gpu] > model.model_size]
        best = min(fitting, key=lambda gpu: loads[gpu] / free[gpu])
        placement[best].append(model)
        free[best] -= model.model_size
        loads[best] += load(model)
    return placement
# EVOLVE-BLOCK-END
','[1]',3,0,'{"suite": "adrs", "score": 0.0, "ratio": 0.0, "valid_cases": 0, "cases": 2, "worst_case": "adrs-00", "worst_ratio": 0.0, "seconds": 0.02, "cpu_seconds": 0.02, "failures": [{"case": "adrs-00", "reason": "crash: IndexError: list index out of range"}, {"case": "adrs-01", "reason": "crash: IndexError: list index out of range"}], "results": [{"case": "adrs-00", "pressure": null, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": "crash", "reason": "crash: IndexError: list index out of range", "traceback": "Traceback", "ratio": 0.0}, {"case": "adrs-01", "pressure": null, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": "crash", "reason": "crash: IndexError: list index out of range", "traceback": "Traceback", "ratio": 0.0}], "hidden": {"score": 0.0, "ratio": 0.0, "valid_cases": 0, "cases": 1, "worst_case": "hidden-00", "worst_ratio": 0.0, "seconds": 0.01, "cpu_seconds": 0.01, "failures": [{"case": "hidden-00", "reason": "crash: IndexError: list index out of range"}], "results": [{"case": "hidden-00", "pressure": null, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": "crash", "reason": "crash: IndexError: list index out of range", "traceback": "Traceback", "ratio": 0.0}]}, "walls": ["namespaces", "seccomp", "limits"], "runs": 1, "steady": true}','0123456789abcdef');
INSERT INTO "programs" VALUES(4,'program_4','What program 4 does.','"""Place models on GPUs."""

GPU_MEMORY = 84


def load(model):
    return model.req_rate / model.slo


# EVOLVE-BLOCK-START
def compute_model_placement(gpu_num, models):
    """Put every model where the pressure stays lowest."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    free = [GPU_MEMORY] * gpu_num
    loads = [0.0] * gpu_num
    for model in sorted(models, key=load, reverse=True):
        fitting = [gpu for gpu in range(gpu_num) if free[gpu] > model.model_size]
        best = min(fitting, key=lambda gpu: loads[gpu] / free[gpu])
        placement[best].append(model)
        free[best] -= model.model_size
        loads[best] += load(model)
    return placement
# EVOLVE-BLOCK-END
','[1, 3]',4,0,'{"suite": "adrs", "score": 23.5, "ratio": 0.9, "valid_cases": 2, "cases": 2, "worst_case": "adrs-00", "worst_ratio": 0.9, "seconds": 0.02, "cpu_seconds": 0.02, "failures": [], "results": [{"case": "adrs-00", "pressure": 0.044444444444444446, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.9}, {"case": "adrs-01", "pressure": 0.044444444444444446, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.9}], "hidden": {"score": 23.5, "ratio": 0.9, "valid_cases": 1, "cases": 1, "worst_case": "hidden-00", "worst_ratio": 0.9, "seconds": 0.01, "cpu_seconds": 0.01, "failures": [], "results": [{"case": "hidden-00", "pressure": 0.044444444444444446, "optimum": 0.04, "seconds": 0.01, "cpu_seconds": 0.01, "failure": null, "reason": "", "traceback": "", "ratio": 0.9}]}, "walls": ["namespaces", "seccomp", "limits"], "runs": 1, "steady": true}','0123456789abcdef');
CREATE TABLE reviews (number INTEGER PRIMARY KEY, facts TEXT NOT NULL) STRICT;
INSERT INTO "reviews" VALUES(5,'{"programs": 5, "summaries": [{"number": 0, "name": "start", "generation": 0, "kind": null, "parent": null, "added": [], "removed": [], "repeats_parent": false, "score": 13.5, "ratio": 0.5, "hidden_ratio": 0.5, "valid_cases": 2, "cases": 2, "hidden_valid_cases": 1, "hidden_cases": 1, "steady": true, "seconds": 0.02, "worst_case": "adrs-00", "worst_ratio": 0.5, "failures": [], "blocks": ["load"]}, {"number": 1, "name": "program_1", "generation": 1, "kind": "diff", "parent": 0, "added": [], "removed": [], "repeats_parent": false, "score": 21.0, "ratio": 0.8, "hidden_ratio": 0.8, "valid_cases": 2, "cases": 2, "hidden_valid_cases": 1, "hidden_cases": 1, "steady": true, "seconds": 0.02, "worst_case": "adrs-00", "worst_ratio": 0.8, "failures": [], "blocks": ["load"]}, {"number": 2, "name": "program_2", "generation": 2, "kind": null, "parent": 1, "added": [], "removed": [], "repeats_parent": false, "score": 18.5, "ratio": 0.7, "hidden_ratio": 0.7, "valid_cases": 2, "cases": 2, "hidden_valid_cases": 1, "hidden_cases": 1, "steady": true, "seconds": 0.02, "worst_case": "adrs-00", "worst_ratio": 0.7, "failures": [], "blocks": ["load"]}, {"number": 3, "name": "program_3", "generation": 3, "kind": null, "parent": 1, "added": [], "removed": [], "repeats_parent": false, "score": 0.0, "ratio": 0.0, "hidden_ratio": 0.0, "valid_cases": 0, "cases": 2, "hidden_valid_cases": 0, "hidden_cases": 1, "steady": true, "seconds": 0.02, "worst_case": "adrs-00", "worst_ratio": 0.0, "failures": [{"kind": "crash", "programs": 1, "cases": 3, "number": 3, "case": "adrs-00", "reason": "crash: IndexError: list index out of range"}], "blocks": ["load"]}, {"number": 4, "name": "program_4", "generation": 4, "kind": "crossing", "parent": 1, "added": [], "removed": [], "repeats_parent": false, "score": 23.5, "ratio": 0.9, "hidden_ratio": 0.9, "valid_cases": 2, "cases": 2, "hidden_valid_cases": 1, "hidden_cases": 1, "steady": true, "seconds": 0.02, "worst_case": "adrs-00", "worst_ratio": 0.9, "failures": [], "blocks": ["load"]}], "insights": {"what_works": ["No block is shown to help by a clean pair or by several pairs that agree.", "The fittest is number 4 (`program_4`) with 0.900000; the first program has 0.500000."], "what_does_not": ["No block is shown to hurt by a clean pair or by several pairs that agree.", "1 program failed by `crash` on 3 cases; the first is number 3 on `adrs-00`: `crash: IndexError: list index out of range`.", "No block is blamed for a failure: what fails is not compared with its parent.", "Refused for one cause: 2 answers, the first for number 4: `block 1 of 2 (line 7 of the answer): its SEARCH is nowhere in the program: line 1 of it is ''x = 1'', nearest is line 12, ''y = 2''; copy the lines from the program as they are`.", "Refused for one cause: 1 answer, the first for number 4: `the child does not compile: invalid syntax at its line 3, ''def f(:''; send a change that does`.", "Refused for one cause: 1 answer, the first for number 4: `the answer was cut off before its end; give a shorter one, and all of it`.", "Refused for one cause: 1 answer, the first for number 4: `program 12 is the same, but for its comments; change something`.", "Refused for one cause: 1 answer, the first for number 6: `a reason that no version knows; do otherwise`."], "how_it_is_implemented": ["The fittest, number 4 (`program_4`), is made of `load`.", "All 4 programs without a failed case have `load`.", "3 pairs of a parent and its child can be compared, as neither has a failed case: 0 clean, with one block that differs and nothing else, and 3 without a block by which to tell them apart."], "how_performance_behaves": ["The highest fitness, 0.900000, is reached by 1 of 4 different programs without a failed case.", "The fittest misses the optimum on 2 of 2 public cases, by most on `adrs-00` (0.900000), `adrs-01` (0.900000); its ratio is 0.900000 there and 0.900000 on hidden cases.", "By diff, the child is fitter in 1 of 1 pair, +0.300000 in the mean.", "By crossing, the child is fitter in 1 of 1 pair, +0.100000 in the mean.", "All public cases take between 0.020 s (number 0) and 0.020 s (number 0)."]}, "recommendations": ["Make sure that no case ends by `crash`, as 3 cases of 1 program did, first `adrs-00`.", "Lower the pressure on case `adrs-00`, where number 4 (`program_4`) reaches only 0.900000 of the optimum with `load`.", "Go on from number 4 (`program_4`), the fittest so far.", "Lower the pressure on case `adrs-01`, where number 4 (`program_4`) reaches only 0.900000 of the optimum with `load`.", "Change one block at a time, so that its gain can be told from that of others."], "claims": [], "withdrawn": []}');
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
INSERT INTO "settings" VALUES('version','1');
INSERT INTO "settings" VALUES('suite','"adrs"');
INSERT INTO "settings" VALUES('seed','0');
INSERT INTO "settings" VALUES('islands','3');
INSERT INTO "settings" VALUES('review','20');
COMMIT;
