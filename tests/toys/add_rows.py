"""Adds a row for each toy to a copy of the table that CONTRIBUTING.md names for it: add_rows.py SOURCE OUT

A toy is what a newcomer adds first: one file, here beside this one, and one row. That the program then knows it, in
help, completions, plans, pictures and checks, is what toys_test.py asks."""
import pathlib
import sys

SOURCE, OUT = map(pathlib.Path, sys.argv[1:])

# Table, the row before, the toy's row, what declares it.
ROWS = [
    ("strategy/all_strategies.cc", "FixedStrategy(),", " ToyStrategy(),", "StrategyRow ToyStrategy();"),
    ("strategy/all_criteria.cc", "ChooseByTime, TimeTerms},",
     '\n    {"toy", "toys", "as many whole operands as can be", ChooseToy, ToyTerms},',
     "CriterionAnswer ChooseToy(const CriterionQuery& query);\n"
     "std::vector<PriceTerm> ToyTerms(const CriterionQuery& query, uint32_t candidate);"),
    ("export/all_exports.cc", "IopddlExporter(),", " ToyExporter(), ToyPlanExporter(),",
     "ExporterRow ToyExporter();\nExporterRow ToyPlanExporter();"),
    ("render/all_formats.cc", "Tables<WriteText>},", '\n    {"toy", "a line", WriteToy},',
     "Result<std::string> WriteToy(const Plan& plan, const RenderOptions& options);"),
    ("grad/all_optimizers.cc", '"sbp::AdamW", true},', '\n      {"toy", "sbp.toys::Step", "sbp.toys::Step"},', ""),
    ("cluster/collective_kind.h", 'X(SendRecv, "send-recv")', ' X(Toy, "toy-mix")', ""),
]


def main():
    for name, before, row, declaration in ROWS:
        text = (SOURCE / "src" / name).read_text()
        assert text.count(before) == 1, f"src/{name}: {before!r} stands there {text.count(before)} times"
        text = text.replace(before, before + row)
        if declaration:
            assert text.count("\nnamespace sbp {\n") == 1, f"src/{name}: not one namespace"
            text = text.replace("\nnamespace sbp {\n", f"\nnamespace sbp {{\n{declaration}\n")
        path = OUT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


main()
